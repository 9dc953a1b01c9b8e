//! The tasks that the reference environment offers with `REF_TASKS=1`.

use serde_json::{Value, json};
use session_http::{Answer, Failure, Reply, TaskQuery};

/// How many tasks each split has.
const EACH: i64 = 3;

pub(crate) fn answer(query: &TaskQuery) -> Answer {
    let value = match query {
        TaskQuery::Splits => json!(["train", { "name": "test", "type": "test" }, "weird"]),
        TaskQuery::List { split } => tasks(split)?.into(),
        TaskQuery::Count { split } => tasks(split)?.len().into(),
        TaskQuery::Get { split, index } => {
            // An index is a place, not a distance from the end.
            let index = usize::try_from(*index).map_err(|_| Failure::InvalidIndex)?;
            tasks(split)?.into_iter().nth(index).ok_or(Failure::InvalidIndex)?
        }
        TaskQuery::Range { split, start, stop } => slice(tasks(split)?, *start, *stop).into(),
    };
    Ok(Reply::Tasks(value))
}

fn tasks(split: &str) -> Result<Vec<Value>, Failure> {
    match split {
        "train" | "test" | "weird" => {
            Ok((0..EACH).map(|index| json!({ "id": format!("{split}-{index}"), "index": index })).collect())
        }
        "unimplemented" => Err(Failure::Unsupported("tasks")),
        other => Err(Failure::Other(format!("unknown split {other}"))),
    }
}

/// As Python slices a list.
fn slice(tasks: Vec<Value>, start: Option<i64>, stop: Option<i64>) -> Vec<Value> {
    let place = |place: i64| if place < 0 { (place + EACH).max(0) } else { place.min(EACH) };
    let (start, stop) = (place(start.unwrap_or(0)), place(stop.unwrap_or(EACH)));
    let is_in = |at: usize| i64::try_from(at).is_ok_and(|at| (start..stop).contains(&at));
    tasks.into_iter().enumerate().filter(|(at, _)| is_in(*at)).map(|(_, task)| task).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(start: Option<i64>, stop: Option<i64>) -> Vec<i64> {
        let query = TaskQuery::Range { split: "train".into(), start, stop };
        let Ok(Reply::Tasks(Value::Array(tasks))) = answer(&query) else { panic!("not a list") };
        tasks.iter().map(|task| task["index"].as_i64().unwrap()).collect()
    }

    #[test]
    fn ranges_are_those_of_python() {
        assert_eq!(range(None, None), [0, 1, 2]);
        assert_eq!(range(Some(1), None), [1, 2]);
        assert_eq!(range(None, Some(-1)), [0, 1]);
        assert_eq!(range(Some(-1), Some(100)), [2]);
        assert_eq!(range(Some(i64::MIN + 3), Some(0)), [0_i64; 0]);
    }

    #[test]
    fn an_index_that_is_none_is_refused() {
        for index in [-1, 3] {
            let query = TaskQuery::Get { split: "train".into(), index };
            assert!(matches!(answer(&query), Err(Failure::InvalidIndex)));
        }
    }
}
