use super::*;

fn layer(toml: &str) -> Layer {
    toml::from_str(toml).unwrap()
}

#[test]
fn what_nobody_says_is_the_default() {
    let settings = Settings::decide(&Layer::default()).unwrap();
    assert_eq!(settings.address, "127.0.0.1:8000");
    assert_eq!((settings.config, settings.limits), (Config::default(), Limits::default()));
    assert_eq!(settings.threads, Some(Threads::PerSession));
}

#[test]
fn the_defaults_fit_into_kubernetes_30_seconds() {
    Settings::decide(&layer("termination-grace = 30")).unwrap();
}

#[test]
fn the_upper_layer_wins_key_by_key() {
    let both = layer("port = 1\nidle-timeout = 'off'").over(layer("port = 2\nmax-sessions = 5"));
    assert_eq!(both, layer("port = 1\nidle-timeout = 'off'\nmax-sessions = 5"));
}

#[test]
fn every_part_of_the_configuration_is_reached() {
    let settings = Settings::decide(&layer(
        "max-sessions = 1\none-shots = 2\nidle-timeout = 'off'\nmax-lifetime = '1h'\nbuild-timeout = 'off'\n\
         enter-timeout = 3\ndrain-timeout = 4\nleave-timeout = 5\nclose-timeout = 6.5\nstop-timeout = '7s'\n\
         grace-period = '8s'\nforced-period = '9s'",
    ));
    let expected = Config::builder()
        .capacity(1)
        .one_shot_capacity(2)
        .idle_timeout(None)
        .max_lifetime(Some(Duration::from_secs(3600)))
        .build_timeout(None)
        .enter_timeout(Some(Duration::from_secs(3)))
        .drain_timeout(Duration::from_secs(4))
        .leave_timeout(Duration::from_secs(5))
        .close_timeout(Duration::from_millis(6500))
        .stop_timeout(Duration::from_secs(7))
        .grace_period(Duration::from_secs(8))
        .forced_period(Duration::from_secs(9));
    assert_eq!(settings.unwrap().config, expected.build().unwrap());
}

#[test]
fn errors_speak_of_flags() {
    let says = |toml: &str| Settings::decide(&layer(toml)).unwrap_err().to_string();
    assert_eq!(says("max-sessions = 0"), "--max-sessions must be greater than zero");
    assert_eq!(says("idle-timeout = 0"), "--idle-timeout must be greater than zero");
    assert!(says("threads = 3").contains("--executor pinned"));
    assert!(says("termination-grace = 30\nlame-duck = 5").contains("--termination-grace 30s"));
}

#[test]
fn an_unknown_key_is_named() {
    let error = toml::from_str::<Layer>("prot = 1").unwrap_err().to_string();
    assert!(error.contains("prot"), "{error}");
}
