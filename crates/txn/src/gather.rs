//! Several calls at once.

use std::pin::Pin;
use std::task::Poll;

/// Waits for all of them; the results are in the order of the futures.
pub(crate) async fn join_all<T>(futures: Vec<Pin<Box<dyn Future<Output = T> + '_>>>) -> Vec<T> {
    join_all_seeing(futures, |_| {}).await
}

/// The same; `see` is shown each result as soon as it is there.
pub(crate) async fn join_all_seeing<T>(
    mut futures: Vec<Pin<Box<dyn Future<Output = T> + '_>>>,
    mut see: impl FnMut(&T),
) -> Vec<T> {
    let mut results: Vec<Option<T>> = futures.iter().map(|_| None).collect();
    let mut left = futures.len();
    std::future::poll_fn(|context| {
        for (future, result) in futures.iter_mut().zip(&mut results) {
            if result.is_none()
                && let Poll::Ready(value) = future.as_mut().poll(context)
            {
                see(&value);
                *result = Some(value);
                left -= 1;
            }
        }
        if left == 0 { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    results.into_iter().flatten().collect()
}
