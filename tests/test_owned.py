"""Own servers with the cloud for the rest: every month adds up, and what they save is what the cloud bills no more."""

import pytest

from gpudash.catalogue import load_catalogue
from gpudash.errors import GpudashError
from gpudash.evaluate import evaluate
from gpudash.owned_count import owned_counts
from gpudash.scenario import Scenario
from gpudash.text import Text

HYBRID = {
    "workload": {"model": "llama-3.1-70b"},
    "traffic": {"peak_requests_per_s": 50},
    "requirements": {"gpus_in": ["H100 SXM"]},
    "finance": {"owned_servers": 1, "owned_gpu": "H100 SXM"},
}


@pytest.fixture(scope="module")
def catalogue():
    return load_catalogue()


def run(catalogue, groups=HYBRID, **changes):
    scenario = Scenario.read(groups).with_values({path.replace("__", "."): value for path, value in changes.items()})
    return evaluate(scenario, catalogue)


@pytest.fixture(scope="module")
def hybrid(catalogue):
    return run(catalogue)


PARTS = ("hardware", "residual", "electricity", "hosting", "maintenance", "staff", "cloud")


def test_every_month_is_the_sum_of_its_parts_and_the_months_are_the_total(hybrid):
    own = hybrid.owned
    for month in own.months:
        assert month.total_usd == pytest.approx(sum(getattr(month, f"{part}_usd") for part in PARTS))
    assert own.total_usd == pytest.approx(sum(month.total_usd for month in own.months))
    assert own.saving_usd == pytest.approx(own.cloud_only_usd - own.total_usd)


def test_without_own_servers_there_is_nothing_to_compare(catalogue):
    assert run(catalogue, finance__owned_servers=0).owned is None


def test_the_cloud_alone_is_the_bill_of_the_recommendation(hybrid):
    own = hybrid.owned
    assert own.cloud_only_usd == pytest.approx(hybrid.recommendation.tco_usd)
    assert [month.cloud_only_usd for month in own.months[1:]] == [month.total_usd for month in hybrid.tco[0].months]


def test_a_server_is_bought_today_and_sold_at_the_end(hybrid, catalogue):
    own = hybrid.owned
    price = next(row for row in catalogue.hardware_prices if row.item == "HGX H100 8-GPU server").typical_usd
    assert own.capex_usd == own.months[0].total_usd == price
    assert own.residual_usd == pytest.approx(price * catalogue.defaults["residual_fraction_after_3_years"].value)
    assert own.months[-1].residual_usd == -own.residual_usd


def test_own_servers_of_the_same_kind_take_the_lowest_layers(catalogue):
    like_answer = run(catalogue, finance__owned_gpu=None)
    alone, rest = like_answer.purchase_mix, like_answer.owned.cloud_mix
    assert like_answer.owned.gpus_per_server == like_answer.recommendation.gpus_per_server
    assert like_answer.owned.cloud_servers == like_answer.recommendation.servers - 1
    assert sum(hours.sum() for hours in alone.served_hours.values()) - sum(
        hours.sum() for hours in rest.served_hours.values()
    ) == pytest.approx(36 * 730)


def test_enough_own_servers_leave_nothing_to_the_cloud(catalogue):
    own = run(catalogue, finance__owned_servers=50).owned
    assert own.cloud_servers == 0
    assert own.served_fraction == pytest.approx(1)
    assert all(month.cloud_usd == 0 for month in own.months)


def test_electricity_is_energy_times_price_and_energy_times_grid_is_carbon(hybrid, catalogue):
    own = hybrid.owned
    assert own.months[1].electricity_usd == pytest.approx(
        own.kwh_per_month * catalogue.electricity[own.country].large_business_usd_per_kwh
    )
    grid = next(r.country_gco2_per_kwh for r in catalogue.regions.values() if r.country == own.country)
    assert own.kgco2e_per_month == pytest.approx(own.kwh_per_month * grid / 1000)


def test_the_users_own_figures_replace_the_shipped_ones(catalogue):
    own = run(
        catalogue, finance__owned_server_usd=0, finance__electricity_usd_per_kwh=0, finance__hosting_usd_per_kw_month=0,
        finance__owned_staff_fte=0, finance__residual_fraction=0,
    ).owned  # fmt: skip
    assert [month.total_usd for month in own.months] == [month.cloud_usd for month in own.months]
    assert own.payback_months == 0
    assert not {entry.name for entry in own.assumptions} & {"finance.owned_server_usd", "finance.pue_colocation"}


def test_payback_is_the_price_over_the_mean_saving_of_a_month(hybrid):
    own = hybrid.owned
    saved = [m.cloud_only_usd - (m.total_usd - m.hardware_usd - m.residual_usd) for m in own.months[1:]]
    assert own.payback_months == pytest.approx(own.capex_usd / (sum(saved) / len(saved)))


@pytest.mark.parametrize("missing_assumption", ["half the price", "twice the benefit"])
def test_the_articles_28_months_become_14_only_with_half_the_price_or_twice_the_benefit(catalogue, missing_assumption):
    """Article 000, plan 3 gives neither; here the price is set so that it comes out, the running costs are left out."""
    bare = {
        "finance__electricity_usd_per_kwh": 0, "finance__hosting_usd_per_kw_month": 0, "finance__owned_staff_fte": 0,
        "finance__maintenance_fraction_per_year": 0,
    }  # fmt: skip
    probe = run(catalogue, finance__owned_server_usd=1, **bare).owned
    price = 28 / probe.payback_months
    assert run(catalogue, finance__owned_server_usd=price, **bare).owned.payback_months == pytest.approx(28)
    if missing_assumption == "half the price":
        again = run(catalogue, finance__owned_server_usd=price / 2, **bare)
    else:  # the same servers displace cloud servers that cost twice as much
        offers = catalogue.offers
        dearer = {
            name: getattr(offers, name) * 2
            for name in vars(offers)
            if name.endswith("usd_per_hour") and "gpu" not in name
        }
        from dataclasses import replace

        again = run(catalogue.with_offers(replace(offers, **dearer)), finance__owned_server_usd=price, **bare)
    assert again.owned.payback_months == pytest.approx(14, rel=1e-6)


def test_three_years_of_own_servers_and_one_of_cloud(catalogue):
    plan = {"purchase__horizon_months": 48, "finance__life_years": 3}
    flexible = run(catalogue, finance__after_life="cloud", **plan).owned
    renewed = run(catalogue, finance__after_life="replace", **plan).owned
    assert [month.month for month in flexible.months if month.hardware_usd] == [0]
    assert flexible.months[36].residual_usd < 0
    assert flexible.months[37].electricity_usd == flexible.months[37].staff_usd == 0
    assert flexible.months[37].cloud_usd == pytest.approx(flexible.months[37].cloud_only_usd)
    assert [month.month for month in renewed.months if month.hardware_usd] == [0, 36]
    assert renewed.months[48].residual_usd < renewed.months[36].residual_usd < 0  # a year old is worth more


def test_a_training_run_is_done_by_own_servers_or_not_at_all(catalogue):
    groups = {
        "workload": {"kind": "training", "training_tokens_b": 100, "deadline_days": 30},
        "finance": {"owned_servers": 60, "owned_gpu": "H100 SXM"},
    }
    own = run(catalogue, groups).owned
    assert own.because is None
    assert own.cloud_servers == 0
    few = run(catalogue, groups, finance__owned_servers=1, workload__deadline_days=2).owned
    assert few.because.code == "owned.too_few_for_a_run"
    for language in ("en", "zh"):
        assert Text(language).say(few.because)


def test_what_own_servers_cannot_do_is_an_answer(catalogue):
    assert run(catalogue, finance__owned_gpu="T4").owned.because is not None
    assert run(catalogue, {"finance": {"owned_servers": 1, "owned_gpu": "A30"}}).owned.because.code == "owned.no_price"


def test_an_unknown_card_or_country_is_refused(catalogue):
    with pytest.raises(GpudashError, match="H1000"):
        run(catalogue, finance__owned_gpu="H1000")
    with pytest.raises(GpudashError, match="Atlantis"):
        run(catalogue, finance__owned_country="Atlantis")


def test_at_no_discount_rate_present_values_are_the_sums(catalogue):
    own = run(catalogue, finance__discount_rate_fraction=0).owned
    assert own.npv_usd == pytest.approx(own.total_usd)
    assert own.cloud_only_npv_usd == pytest.approx(own.cloud_only_usd)


def test_every_figure_of_own_servers_is_in_the_ledger(hybrid):
    names = [entry.name for entry in hybrid.assumptions]
    assert {
        "finance.owned_server_usd",
        "finance.electricity_usd_per_kwh",
        "owned.residual_fraction_after_3_years",
    } <= set(names)
    assert len(names) == len(set(names))


def test_the_best_number_of_own_servers_is_the_cheapest_of_all_numbers(catalogue):
    cheap_space = {"finance__owned_staff_fte": 0, "finance__owned_server_usd": 150_000, "traffic__shape": "flat"}
    groups = Scenario.read(HYBRID).with_values({path.replace("__", "."): value for path, value in cheap_space.items()})
    found = owned_counts(groups, catalogue)
    assert [fleet.servers for fleet in found.fleets] == list(range(1, len(found.fleets) + 1))
    assert found.fleets[-1].cloud_servers == 0
    assert all(fleet.cloud_servers > 0 for fleet in found.fleets[:-1])
    assert found.best.total_usd == min(fleet.total_usd for fleet in found.fleets)
    for fleet in found.fleets[:: len(found.fleets) - 1]:
        alone = run(catalogue, finance__owned_servers=fleet.servers, **cheap_space).owned
        assert alone.total_usd == pytest.approx(fleet.total_usd)


def test_where_own_servers_never_pay_no_number_is_best(catalogue):
    assert owned_counts(Scenario.read(HYBRID).with_value("finance.owned_server_usd", 5_000_000), catalogue).best is None
    cannot = owned_counts(Scenario.read({"finance": {"owned_gpu": "A30"}}), catalogue)
    assert cannot.best is None
    assert cannot.fleets[0].because.code == "owned.no_price"


def test_for_a_run_the_fewest_own_servers_are_those_of_the_run(catalogue):
    run_of_two_days = {
        "workload": {"kind": "training", "training_tokens_b": 100, "deadline_days": 2},
        "finance": {"owned_gpu": "H100 SXM"},
    }
    found = owned_counts(Scenario.read(run_of_two_days), catalogue)
    assert found.fleets[0].because.code == "owned.too_few_for_a_run"
    assert found.fleets[-1].because is None
    assert found.fleets[-1].cloud_servers == 0
