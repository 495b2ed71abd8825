//! The page for operators in a real browser. Skipped where Chromium is not installed; `SHOAL_SCREENSHOTS=DIR` keeps what was seen.

use std::thread;

use base64::Engine;
use shoal_system_tests::browser::Browser;
use shoal_system_tests::{TestServer, skip, target_is_mariadb, wait_until};

const HOSTILE: &str =
    "SELECT SLEEP(600), '<img src=x onerror=\"window.broken=1\"><script>window.broken=2</script>'";

fn log_in(browser: &mut Browser, user: &str, password: &str) {
    wait_until("the form is there", || browser.is_true("document.getElementById('login')?.hidden === false"));
    let fill = format!(
        "document.getElementById('user').value = '{user}'; document.getElementById('password').value = '{password}'; \
         document.querySelector('#login button').click()"
    );
    browser.value(&fill);
}

fn keep(browser: &mut Browser, name: &str) {
    let Ok(directory) = std::env::var("SHOAL_SCREENSHOTS") else { return };
    let bytes = base64::engine::general_purpose::STANDARD.decode(browser.screenshot()).unwrap();
    std::fs::write(std::path::Path::new(&directory).join(name), bytes).unwrap();
}

#[test]
fn an_operator_logs_in_looks_and_ends_a_statement() {
    if target_is_mariadb() {
        return skip("MariaDB has no HTTP");
    }
    let Some(mut browser) = Browser::start() else { return skip("chromium is not installed") };
    let server = TestServer::start();
    let mut sleeper = server.client();
    let id = sleeper.connection_id();
    let sleeping = thread::spawn(move || sleeper.query(HOSTILE).map(|_| ()));
    browser.open(&format!("http://{}/", server.http()));
    log_in(&mut browser, "root", "wrong");
    wait_until("the reason is shown", || {
        browser.is_true("document.getElementById('login-error').textContent.includes('Access denied')")
    });
    assert!(browser.is_true("document.activeElement.id == 'password' && document.getElementById('page').hidden"));
    log_in(&mut browser, "root", "");
    let row = format!(
        "[...document.querySelectorAll('#statements tbody tr')].find((row) => row.children[0].textContent == '{id}')"
    );
    wait_until("the statement is listed", || browser.is_true(&format!("Boolean({row})")));

    // A statement's text is text, whatever is in it.
    assert_eq!(browser.value(&format!("{row}.querySelector('code').textContent")), HOSTILE);
    assert!(browser.is_true("window.broken === undefined && document.images.length == 1 && !document.querySelector('td img, td script')"));

    // Everything has a name; charts have their figures as tables.
    wait_until("charts are drawn", || {
        browser.is_true("document.querySelectorAll('figure svg[role=img][aria-label]').length == 8")
    });
    for unnamed in ["button:not([aria-label])", "input:not([type=checkbox])", "select", "section"] {
        let check = format!(
            "[...document.querySelectorAll('{unnamed}')].filter((one) => one.checkVisibility() && !one.textContent.trim() && !one.labels?.length \
             && !one.getAttribute('aria-labelledby')).length"
        );
        assert_eq!(browser.value(&check), 0, "{unnamed}");
    }
    browser.value("document.querySelector('figure details').open = true");
    wait_until("the table has samples", || {
        browser.is_true("document.querySelectorAll('figure tbody tr').length > 0")
    });
    browser.value("document.querySelector('figure details').open = false");

    // Where the time goes: a sample, by keyboard too, and its plan.
    server.sql("CREATE TABLE fish (id INT PRIMARY KEY, name VARCHAR(20)); INSERT INTO fish VALUES (1, 'perch'); SELECT * FROM fish WHERE name LIKE 'p%'");
    browser.value("document.getElementById('digest-order').value = 'rows_examined'; document.getElementById('digest-order').dispatchEvent(new Event('change'))");
    let kind =
        "[...document.querySelectorAll('#digests tbody tr')].find((row) => row.textContent.includes('LIKE'))";
    wait_until("its kind is listed", || browser.is_true(&format!("Boolean({kind})")));
    browser.value(&format!("{kind}.querySelector('button').focus()"));
    browser.press("Enter");
    wait_until("the plan is shown", || {
        browser.is_true("document.getElementById('digest-plan').textContent.includes('fish')")
    });
    for colours in ["light", "dark"] {
        for width in [400, 1280] {
            browser.prefer_colours(colours);
            browser.resize(width, 900);
            assert!(browser.is_true("document.documentElement.scrollWidth <= innerWidth"), "{colours} {width}");
            keep(&mut browser, &format!("digest-{colours}-{width}.png"));
        }
    }
    browser.press("Escape");
    wait_until("the dialog is closed", || browser.is_true("!document.getElementById('digest').open"));

    // The trend has a bar for each minute in which there was something.
    let told = "{ digests: [{ database: 'shop', digest: 'a', text: 'SELECT `a` FROM `t` WHERE `id` = ?', count: 123456, sum_us: 5e9, avg_us: 400, p95_us: 900, \
        p99_us: 1000, max_us: 5000, rows_examined: 99999, rows_sent: 1, full_scans: 0, errors: 3, last_seen_us: 0, trend: [5, 0, 40, 7, 12, 30, 2, 2, 9, 20] }], \
        total: 7, trend_minutes: 30, failures: { 2: 'gone' } }";
    let show = format!("import('/digests.js').then((made) => made.showDigests({told}, 'recent', null, null))");
    wait_until("bars are drawn", || {
        browser.is_true(&format!("({show}, document.querySelectorAll('#digests rect').length == 10)"))
    });
    assert!(browser.is_true("document.querySelector('#digests .trend svg').getAttribute('aria-label').includes('20 µs in the last minute')"));
    assert!(browser.is_true("document.getElementById('digests-count').textContent == '1 of 7; node 2: gone'"));
    for colours in ["light", "dark"] {
        browser.prefer_colours(colours);
        browser.resize(if colours == "light" { 1280 } else { 400 }, 900);
        browser.value(&show);
        keep(&mut browser, &format!("trend-{colours}.png"));
    }

    // Readable on a phone and a desk, in the light and in the dark.
    let mut backgrounds = Vec::new();
    for colours in ["light", "dark"] {
        for width in [390, 1280] {
            browser.prefer_colours(colours);
            browser.resize(width, 900);
            assert!(browser.is_true("document.documentElement.scrollWidth <= innerWidth"), "{colours} {width}");
            keep(&mut browser, &format!("{colours}-{width}.png"));
        }
        backgrounds.push(browser.value("getComputedStyle(document.body).backgroundColor"));
        assert!(contrast(&mut browser) >= 4.5, "{colours}");
    }
    assert_ne!(backgrounds[0], backgrounds[1]);
    browser.value("document.getElementById('theme').click()");
    assert_eq!(
        browser.value("getComputedStyle(document.body).backgroundColor"),
        backgrounds[0],
        "the button wins"
    );

    // By keyboard alone: the dialog begins at the harmless answer.
    browser.value(&format!("{row}.querySelector('.actions button').focus()"));
    browser.press("Enter");
    wait_until("the dialog asks", || browser.is_true("document.getElementById('confirm').open"));
    assert!(browser.is_true("document.activeElement.id == 'confirm-no'"));
    browser.press("Escape");
    wait_until("nothing happens", || browser.is_true("!document.getElementById('confirm').open"));
    assert!(browser.is_true("document.activeElement.textContent == 'End statement'"), "the focus comes back");
    assert!(!sleeping.is_finished());
    browser.press("Enter");
    wait_until("the dialog asks again", || browser.is_true("document.getElementById('confirm').open"));
    browser.press("Tab");
    browser.press("Enter");
    sleeping.join().unwrap().unwrap();
    wait_until("it is listed no more", || browser.is_true(&format!("!{row}")));

    browser.value("document.getElementById('logout').click()");
    wait_until("nothing is left to see", || {
        browser.is_true("document.getElementById('page').hidden && !document.querySelector('#statements tbody tr, #nodes > *')")
    });
    // Before a login the server says 401, which browsers note.
    let complaints: Vec<&String> =
        browser.complaints.iter().filter(|text| !text.contains("status of 401")).collect();
    assert!(complaints.is_empty(), "{complaints:?}");
}

/// Of the least readable text among those that matter, to its background.
fn contrast(browser: &mut Browser) -> f64 {
    let found = browser.value(
        "(() => {
            const rgb = (text) => text.match(/[\\d.]+/g).slice(0, 3).map(Number);
            const light = (colour) => colour.map((one) => one / 255).map((one) => one <= 0.03928 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4)
                .reduce((sum, one, place) => sum + one * [0.2126, 0.7152, 0.0722][place], 0);
            const background = (element) => {
                for (let one = element; one; one = one.parentElement) {
                    const colour = getComputedStyle(one).backgroundColor;
                    if (!/, 0\\)$/.test(colour)) return rgb(colour);
                }
                return [255, 255, 255];
            };
            const texts = [...document.querySelectorAll('h1, h2, h3, p, li, td, th, dt, dd, button, .badge, a, label, figcaption, .axis span')]
                .filter((one) => one.textContent.trim() && one.checkVisibility());
            return Math.min(...texts.map((one) => {
                const [a, b] = [light(rgb(getComputedStyle(one).color)), light(background(one))].sort((a, b) => b - a);
                return (a + 0.05) / (b + 0.05);
            }));
        })()",
    );
    found.as_f64().unwrap_or(0.0)
}
