(** Entropy Mechanism, "Empirical verification", repaired: what the covariance over actions is over
    responses.

    For every direction x of the token logits, sum_s d(s) Cov_s(log pi - H(sa), x) equals
    Cov_y(log pi(y), sum_t (x_t - E x_t)); the policy gradient's direction is x = d(s) pi(a|s) A(s, a).
    For one token both are the covariance over actions. *)

From Coq Require Import Reals Lra Lia List.
From Coquelicot Require Import Coquelicot.
From PolicyEntropy.library Require Import Definitions Basics Trees TreeValues TreeRates TreeGradients.
Import ListNotations.
Open Scope R_scope.

Theorem proved :
  forall (n h : nat) (z : policy) (reward : state -> R),
  (2 <= n)%nat -> (1 <= h)%nat ->
  let sides x :=
    sum_states n h (fun s => probability n z s *
      covariance n (softmax n (z s)) (fun a => log_softmax n (z s) a - entropy_to_go n h z s a) (x s))
    = covariance_responses n h z (sum_along (log_policy n z)) (sum_along (centered_policy n z x)) in
  sides (gradient_formula n h z reward) /\ forall x, sides x.
Proof.
  intros n h z reward several long sides; assert (0 < n)%nat as some by lia.
  assert (forall x, sides x) as every
    by (intros x; symmetry; apply covariance_log_policy_states, some).
  split; [apply every|exact every].
Qed.
