//! Conditions on rows, written as comparisons of columns.

use pyo3::basic::CompareOp;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use shoal_client::Comparison;

use crate::value;

/// A column in a condition: `column("age") >= 18`. A comparison with NULL is unknown, as in SQL.
#[pyclass(frozen, module = "shoal", name = "column")]
pub struct Column {
    name: String,
}

#[pymethods]
impl Column {
    #[new]
    fn new(name: String) -> Column {
        Column { name }
    }

    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    fn __richcmp__(&self, other: &Bound<'_, PyAny>, operator: CompareOp) -> PyResult<Filter> {
        let wrong = |message: &'static str| Err(PyTypeError::new_err(message));
        let comparison = match operator {
            CompareOp::Eq if other.is_none() => return Ok(self.is_null()),
            CompareOp::Ne if other.is_none() => return Ok(self.is_not_null()),
            _ if other.is_none() => return wrong("None is neither less nor greater than anything"),
            _ if other.is_instance_of::<Column>() => {
                return wrong("columns are compared with values, not with columns");
            }
            CompareOp::Eq => Comparison::Equal,
            CompareOp::Ne => Comparison::NotEqual,
            CompareOp::Lt => Comparison::Less,
            CompareOp::Le => Comparison::LessOrEqual,
            CompareOp::Gt => Comparison::Greater,
            CompareOp::Ge => Comparison::GreaterOrEqual,
        };
        let value = value::from_python(other)?;
        Ok(Filter { inner: shoal_client::Filter::Compare(self.name.clone(), comparison, value) })
    }

    /// Comparing makes conditions, so columns are not told apart by it.
    fn __hash__(&self) -> PyResult<isize> {
        Err(PyTypeError::new_err("a column of a condition has no hash"))
    }

    /// Also `column(..) == None`.
    fn is_null(&self) -> Filter {
        Filter { inner: shoal_client::Filter::IsNull(self.name.clone()) }
    }

    fn is_not_null(&self) -> Filter {
        self.is_null().__invert__()
    }

    /// Equal to one of these values.
    fn is_in(&self, values: &Bound<'_, PyAny>) -> PyResult<Filter> {
        let equal = |value: PyResult<Bound<'_, PyAny>>| {
            Ok(shoal_client::Filter::equal(&self.name, value::from_python(&value?)?))
        };
        let any: Vec<_> = values.try_iter()?.map(equal).collect::<PyResult<_>>()?;
        match any.is_empty() {
            true => Err(PyValueError::new_err("is_in() of no values is never true")),
            false => Ok(Filter { inner: shoal_client::Filter::Or(any) }),
        }
    }

    fn __repr__(&self) -> String {
        format!("column({:?})", self.name)
    }
}

/// A condition on rows, evaluated where they lie. Conditions are joined by `&`, `|` and `~`.
#[pyclass(frozen, module = "shoal")]
pub struct Filter {
    pub inner: shoal_client::Filter,
}

#[pymethods]
impl Filter {
    fn __and__(&self, other: &Filter) -> Filter {
        Filter { inner: self.inner.clone().and(other.inner.clone()) }
    }

    fn __or__(&self, other: &Filter) -> Filter {
        Filter { inner: self.inner.clone().or(other.inner.clone()) }
    }

    fn __invert__(&self) -> Filter {
        Filter { inner: shoal_client::Filter::Not(Box::new(self.inner.clone())) }
    }

    /// `a and b` would silently be `b`.
    fn __bool__(&self) -> PyResult<bool> {
        Err(PyTypeError::new_err("conditions are joined by & | ~ (with parentheses), not by and, or, not"))
    }

    fn __repr__(&self) -> String {
        format!("<shoal.Filter {:?}>", self.inner)
    }
}
