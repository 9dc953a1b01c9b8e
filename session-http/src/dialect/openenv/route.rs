//! Which paths there are.

use http::Method;

use super::Mode;

/// A path that is served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Route {
    Mcp,
    Health,
    Livez,
    Readyz,
    Metadata,
    Schema,
    OpenApi,
    Docs,
    Reset,
    Step,
    State,
    ListEnvironments,
    /// A task route of the environment with this name, as the client spelt it.
    Tasks(TaskRoute, String),
}

/// A path below an environment's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TaskRoute {
    Splits,
    List,
    Count,
    Get,
    Range,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found<'a> {
    Route(Route),
    /// There is one at this path, without the slash at the end.
    Slash(&'a str),
    Nothing,
}

impl Route {
    /// The one method that it is asked with (HEAD goes with GET).
    pub(super) const fn method(&self) -> Method {
        match self {
            Self::Mcp | Self::Reset | Self::Step => Method::POST,
            Self::Tasks(TaskRoute::Splits, _) => Method::GET,
            Self::Tasks(_, _) => Method::POST,
            Self::Health
            | Self::Livez
            | Self::Readyz
            | Self::Metadata
            | Self::Schema
            | Self::OpenApi
            | Self::Docs
            | Self::State
            | Self::ListEnvironments => Method::GET,
        }
    }
}

pub(super) fn find(path: &str, mode: Mode) -> Found<'_> {
    if let Some(route) = exactly(path, mode) {
        return Found::Route(route);
    }
    let bare = path.trim_end_matches('/');
    match exactly(bare, mode) {
        Some(_) => Found::Slash(bare),
        None => Found::Nothing,
    }
}

fn exactly(path: &str, mode: Mode) -> Option<Route> {
    let route = match path {
        "/mcp" => Route::Mcp,
        "/health" => Route::Health,
        "/livez" => Route::Livez,
        "/readyz" => Route::Readyz,
        "/metadata" => Route::Metadata,
        "/schema" => Route::Schema,
        "/openapi.json" => Route::OpenApi,
        "/docs" | "/redoc" => Route::Docs,
        "/reset" => Route::Reset,
        "/step" => Route::Step,
        "/state" => Route::State,
        "/list_environments" => Route::ListEnvironments,
        _ => return task(path),
    };
    let controls = matches!(route, Route::Reset | Route::Step | Route::State);
    (!controls || mode == Mode::Simulation).then_some(route)
}

fn task(path: &str) -> Option<Route> {
    let (environment, what) = path.strip_prefix('/')?.split_once('/')?;
    let route = match what {
        "splits" => TaskRoute::Splits,
        "tasks" => TaskRoute::List,
        "num_tasks" => TaskRoute::Count,
        "task" => TaskRoute::Get,
        "task_range" => TaskRoute::Range,
        _ => return None,
    };
    (!environment.is_empty()).then(|| Route::Tasks(route, environment.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_routes_are_there_in_simulation_only() {
        for path in ["/reset", "/step", "/state"] {
            assert!(matches!(find(path, Mode::Simulation), Found::Route(_)));
            assert_eq!(find(path, Mode::Production), Found::Nothing);
        }
    }

    #[test]
    fn a_slash_too_many_leads_to_the_path_without_it() {
        assert_eq!(find("/health/", Mode::Simulation), Found::Slash("/health"));
        for path in ["/", "//", "/nope/", "/reset/x"] {
            assert_eq!(find(path, Mode::Simulation), Found::Nothing, "{path}");
        }
    }
}
