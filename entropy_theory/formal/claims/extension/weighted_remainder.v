(** Extension of Entropy Mechanism, Lemma 1, and AEPO, Theorem 4.3, to any displacement of the logits: a remainder
    in which each logit counts as much as its token's probability.

    The bound (1/4)(1 + log n) ||d||^2 counts the logits of tokens that are never sampled like the others. With
    u = d - E d, V = Var_pi(d) = E u^2, l = log pi + H, c = Cov_pi(log pi, d) and M = max u,

        |H(z + d) - H(z) + c| <= (e^M/2) {V + E[|l| u^2] + V |c|},

    for every n, policy and displacement: no ||d||^2, no log n. Only M is not weighted by the policy; it is the
    largest move upwards, and tends to 0 with the displacement. *)

From Coq Require Import Reals Lra Lia.
From Coquelicot Require Import Coquelicot.
From PolicyEntropy.library Require Import
  Definitions Basics Largest Curvature EntropyChange WeightedRemainder.
Open Scope R_scope.

Definition first_order (n : nat) (logits step : vector) : R :=
  - covariance n (softmax n logits) (log_softmax n logits) step.
Definition variance (n : nat) (p step : vector) : R := covariance n p step step.
(** max (d - E d) *)
Definition largest_rise (n : nat) (p step : vector) : R := largest n (centered n p step).

(** With the variance of the displacement alone, at the price of log n and of log(rho^2/V), rho = max d - min d. *)
Theorem by_the_variance :
  forall (n : nat) (logits step : vector),
  (1 <= n)%nat ->
  let p := softmax n logits in
  0 < variance n p step ->
  Rabs (entropy_change n logits step - first_order n logits step)
  <= exp (largest_rise n p step) / 2
     * (variance n p step
        * (1 + ln (INR n) + ln ((largest n step - smallest n step) ^ 2 / variance n p step))).
Proof.
  intros n logits step some p varied; unfold first_order, Rminus at 1; rewrite Ropp_involutive.
  apply variance_remainder; [lia|intros; apply largest_ge; assumption|exact varied].
Qed.

(** From below, the variance and log n suffice; *)
Theorem from_below :
  forall (n : nat) (logits step : vector),
  (1 <= n)%nat ->
  let p := softmax n logits in
  - (exp (largest_rise n p step) / 2 * (variance n p step * (1 + ln (INR n))))
  <= entropy_change n logits step - first_order n logits step.
Proof.
  intros n logits step some p; unfold first_order, Rminus; rewrite Ropp_involutive.
  apply variance_remainder_lower; [lia|intros; apply largest_ge; assumption].
Qed.

(** and the factor e^M goes where the variance is bounded on the way from the old policy to the new one. *)
Theorem from_below_on_the_way :
  forall (n : nat) (logits step : vector) (K : R),
  (1 <= n)%nat ->
  (forall t, 0 <= t <= 1 -> variance n (softmax n (fun a => logits a + t * step a)) step <= K) ->
  - ((1 + ln (INR n)) * K / 2) <= entropy_change n logits step - first_order n logits step.
Proof.
  intros n logits step K some bound; unfold first_order, Rminus; rewrite Ropp_involutive.
  apply variance_remainder_lower_sup; [lia|exact bound].
Qed.

Theorem proved :
  forall (n : nat) (logits step : vector),
  (1 <= n)%nat ->
  let p := softmax n logits in
  let u := centered n p step in
  0 <= exp (largest_rise n p step)
       * (variance n p step
          + mean n p (fun a => Rabs (log_softmax n logits a + entropy n logits) * (u a * u a))
          + variance n p step * Rabs (first_order n logits step)) / 2
       - Rabs (entropy_change n logits step - first_order n logits step).
Proof.
  intros n logits step some p u.
  pose proof (weighted_remainder n logits step ltac:(lia) (largest_rise n p step)
                ltac:(intros; apply largest_ge; assumption)) as bound; fold p u in bound.
  unfold first_order; rewrite Rabs_Ropp; unfold Rminus at 2; rewrite Ropp_involutive; fold p.
  unfold variance; lra.
Qed.
