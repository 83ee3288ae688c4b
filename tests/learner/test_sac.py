import pytest
import torch

from svm_robot.learner.sac import Sac, SacConfig, Transitions, cost_to_go


def transitions(rows: int, reward: torch.Tensor, continues: torch.Tensor, latent: torch.Tensor) -> Transitions:
    vector = torch.zeros(rows, 2)
    return Transitions(vector, latent, reward, vector, continues)


def test_cost_to_go_by_hand() -> None:
    assert cost_to_go(1.0, 0.5, 3) == pytest.approx(-(1 + 0.5 + 0.25))
    assert cost_to_go(2.0, 1.0, 4) == -8.0
    assert cost_to_go(1.0, 0.98, 20) == pytest.approx(-sum(0.98**k for k in range(20)))


def test_only_success_is_terminal() -> None:
    """A ends in success: the target is its reward. B ran out of time: it bootstraps from its last observation."""
    sac = Sac(2, 1, SacConfig(gamma=0.9, hidden=8), critic_bias=-5.0, seed=0)
    reward, continues = torch.tensor([0.0, -1.0]), torch.tensor([0.0, 1.0])
    batch = Transitions(torch.zeros(2, 2), torch.zeros(2, 1), reward, torch.ones(2, 2), continues)
    state = sac.generator.get_state()
    target = sac.target(batch)
    sac.generator.set_state(state)
    with torch.no_grad():
        latent, log_density = sac.actor.sample(batch.next_vector, sac.generator)
        value = sac.targets(batch.next_vector, latent).amin(dim=0) - 0.1 * log_density
    assert target[0] == 0.0
    assert target[1] == pytest.approx(-1 + 0.9 * float(value[1]), abs=1e-5)


def test_learns_which_noise_pays() -> None:
    """A bandit: the reward is highest at w = 1 in the first component, the second does not matter."""
    sac = Sac(2, 2, SacConfig(hidden=32, learning_rate=3e-3, target_entropy=-4.0, alpha=0.02), 0.0, seed=0)
    generator = torch.Generator().manual_seed(0)
    for _ in range(400):
        latent = torch.empty(64, 2).uniform_(-1.5, 1.5, generator=generator)
        sac.update(transitions(64, -(latent[:, 0] - 1).square(), torch.zeros(64), latent))
    with torch.no_grad():
        assert abs(float(sac.actor.mean(torch.zeros(1, 2))[0, 0]) - 1) < 0.25


def test_values_of_a_chain_are_the_discounted_costs() -> None:
    """Three decisions to the end, each costs 1, the last one is free: Q = -1.9, -1, 0 (gamma .9)."""
    sac = Sac(1, 1, SacConfig(gamma=0.9, hidden=32, learning_rate=3e-3, tau=0.1, alpha=1e-4), -2.0, seed=0)
    place = torch.randint(3, (256,), generator=torch.Generator().manual_seed(0))
    vector, following = place[:, None].float(), place[:, None].float() + 1
    terminal = place == 2
    latent = torch.zeros(256, 1)
    batch = Transitions(vector, latent, terminal.float() - 1, following, (~terminal).float())
    for _ in range(600):
        # the actor has no say here: only where the critics were trained (w = 0) are their values meant
        with torch.no_grad():
            value = sac.targets(batch.next_vector, latent).amin(dim=0)
        sac.critic_step(batch, batch.reward + 0.9 * batch.continues * value)
        sac.target_step()
    with torch.no_grad():
        values = sac.critics(torch.tensor([[0.0], [1.0], [2.0]]), torch.zeros(3, 1)).mean(dim=0)
    assert torch.allclose(values, torch.tensor([-1.9, -1.0, 0.0]), atol=0.1)


def test_the_temperature_moves_towards_the_target_entropy() -> None:
    def alpha_after(target: float) -> float:
        sac = Sac(2, 2, SacConfig(target_entropy=target, hidden=16, learning_rate=1e-2), 0.0, seed=0)
        for _ in range(60):
            sac.update(transitions(16, torch.zeros(16), torch.zeros(16), torch.zeros(16, 2)))
        return float(sac.log_alpha.detach().exp())

    assert alpha_after(-10.0) < 0.1 < alpha_after(10.0)


def test_one_seed_one_learner_and_a_state_that_continues_it() -> None:
    def fed(sac: Sac, rounds: range) -> Sac:
        for k in rounds:
            latent = torch.full((8, 2), k / 10)
            sac.update(transitions(8, latent[:, 0], torch.ones(8), latent))
        return sac

    whole = fed(Sac(2, 2, SacConfig(hidden=8), -1.0, seed=4), range(11))
    first = fed(Sac(2, 2, SacConfig(hidden=8), -1.0, seed=4), range(5))
    second = Sac(2, 2, SacConfig(hidden=8), -1.0, seed=99)
    second.load_state_dict(first.state_dict())
    fed(second, range(5, 11))
    for name, weight in whole.actor.state_dict().items():
        assert torch.equal(weight, second.actor.state_dict()[name]), name
    assert torch.equal(whole.critic_weights.flat, second.critic_weights.flat)
    assert torch.equal(whole.target_weights.flat, second.target_weights.flat)
    assert torch.equal(whole.log_alpha, second.log_alpha)


def test_the_state_is_a_copy_that_training_does_not_change() -> None:
    sac = Sac(2, 2, SacConfig(hidden=8), -1.0, seed=4)
    before = float(sac.state_dict()["log_alpha"])
    state = sac.state_dict()
    for _ in range(4):
        sac.update(transitions(8, torch.zeros(8), torch.ones(8), torch.zeros(8, 2)))
    assert float(state["log_alpha"]) == before


def test_targets_follow_slowly() -> None:
    sac = Sac(2, 1, SacConfig(hidden=8, tau=0.25), 0.0, seed=0)
    with torch.no_grad():
        sac.critic_weights.flat.fill_(4.0)
        sac.target_weights.flat.fill_(0.0)
    sac.target_step()
    assert torch.equal(sac.targets.w1, torch.full_like(sac.targets.w1, 1.0))
