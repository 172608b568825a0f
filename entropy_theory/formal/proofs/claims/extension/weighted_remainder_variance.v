(** Extension of Entropy Mechanism, Lemma 1, and AEPO, Theorem 4.3, to any displacement of the logits:
    a remainder in the variance of the displacement. With V = Var_pi(d) > 0, M = max(d - E d) and rho = max d - min d,

        |H(z + d) - H(z) + Cov_pi(log pi, d)| <= (e^M/2) V {1 + log n + log(rho^2/V)};

    from below log(rho^2/V) is not needed, nor e^M where the variance is bounded on the way. *)

From Coq Require Import Reals Lra Lia.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import
  Basics Masks Curvature EntropyChange WeightedRemainder.
From Trusted.Statements.extension Require weighted_remainder_variance.
Open Scope R_scope.

Definition first_order (n : nat) (logits step : vector) : R :=
  - covariance n (softmax n logits) (log_softmax n logits) step.
Definition variance (n : nat) (p step : vector) : R := covariance n p step step.
(** max (d - E d) *)
Definition largest_rise (n : nat) (p step : vector) : R := largest n (centered n p step).

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

Theorem from_below_on_the_way :
  forall (n : nat) (logits step : vector) (K : R),
  (1 <= n)%nat ->
  (forall t, 0 <= t <= 1 -> variance n (softmax n (fun a => logits a + t * step a)) step <= K) ->
  - ((1 + ln (INR n)) * K / 2) <= entropy_change n logits step - first_order n logits step.
Proof.
  intros n logits step K some bound; unfold first_order, Rminus; rewrite Ropp_involutive.
  apply variance_remainder_lower_sup; [lia|exact bound].
Qed.

Theorem proved : Statements.extension.weighted_remainder_variance.statement.
Proof.
  intros n logits step many varied; unfold Rminus at 1; rewrite Ropp_involutive.
  pose proof (variance_remainder n logits step ltac:(lia) (largest_rise n (softmax n logits) step)
                ltac:(intros; apply largest_ge; assumption) varied) as bound.
  replace ((largest n step - smallest n step) * (largest n step - smallest n step))
    with ((largest n step - smallest n step) ^ 2) by ring.
  unfold largest_rise in bound; lra.
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.extension.weighted_remainder_variance.witness.
Proof.
  exists 2%nat, (fun _ => 0), (fun a => match a with | 0%nat => (- (1)) | _ => 0 end); witnessed.
Qed.

Theorem defined : Statements.extension.weighted_remainder_variance.defined.
Proof.
  domains; match goal with varies : 0 < covariance ?n (softmax ?n ?z) ?d ?d |- _ =>
    assert (smallest n d < largest n d) as apart end.
  { apply Rnot_le_lt; intros flat; apply (Rlt_irrefl 0).
    eapply Rlt_le_trans; [eassumption|apply Req_le].
    match goal with |- covariance ?n (softmax ?n ?z) ?d ?d = 0 =>
      rewrite (covariance_ext n (softmax n z) d d (fun _ => smallest n d) (fun _ => smallest n d)) end.
    - unfold covariance, centered; rewrite !mean_const by (apply softmax_sum; lia); ring.
    - intros a inside; pose proof (largest_ge _ step a inside); pose proof (smallest_le _ step a inside); lra.
    - intros a inside; pose proof (largest_ge _ step a inside); pose proof (smallest_le _ step a inside); lra. }
  apply quotient_pos; [nra|assumption].
Qed.

From PolicyEntropy.library Require Import ConditionsMet.
From Trusted.Theorems.extension Require weighted_remainder_variance.
From Trusted.Conditions.extension Require weighted_remainder_variance.

Theorem from_below_witness : Conditions.extension.weighted_remainder_variance.from_below_witness.
Proof. exists 1%nat; met. Qed.

Theorem from_below_defined : Conditions.extension.weighted_remainder_variance.from_below_defined.
Proof. domains. Qed.

Theorem from_below_on_the_way_witness : Conditions.extension.weighted_remainder_variance.from_below_on_the_way_witness.
Proof.
  exists 1%nat, (fun _ => 0), (fun _ => 0), 0; split; [lia|]; intros t _; right.
  unfold Theorems.extension.weighted_remainder_variance.variance, covariance, centered, mean; simpl; ring.
Qed.

Theorem from_below_on_the_way_defined : Conditions.extension.weighted_remainder_variance.from_below_on_the_way_defined.
Proof. domains. Qed.
