(** AEnt, section 4.1: "the entropy bonus pulls every probability towards 1/n". Under the gradient flow of
    entropy d log pi_a = E S - S_a with S_a = pi_a (log pi_a + H). False as printed: tokens between 1/n and
    the crossing gain too. Every token with pi_a <= e^{-H}, and so every one at most 1/n, gains, and the
    likeliest loses. *)

From Coq Require Import Reals Lra Lia List Bool.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Calculus Contributions Divergence Masks Growth Ranking.
From Trusted.Statements.aent Require bonus_pulls_to_uniform.
Open Scope R_scope.

(** The rate of log pi_a under the flow. *)
Definition gain (n : nat) (z : vector) : vector := fun a => - excess n z a.

Section OneState.

Variables (n : nat) (z : vector).
Hypothesis some : (0 < n)%nat.

Lemma flow_of_log_probability a :
  (a < n)%nat ->
  derivative (fun t => log_softmax n (fun b => z b + t * - own_covariance n z b) a) 0 (gain n z a).
Proof.
  intros inside; apply derivative_of_is_derive; evar_last.
  - apply (is_derive_log_softmax n (fun t b => z b + t * - own_covariance n z b)
             (fun b => - own_covariance n z b) 0 some); [|exact inside].
    intros; apply (is_derive_line z (fun b => - own_covariance n z b)).
  - unfold gain, excess, centered.
    rewrite mean_opp.
    assert (mean n (softmax n (fun b => z b + 0 * - own_covariance n z b)) (own_covariance n z)
            = mean n (softmax n z) (own_covariance n z)) as same; [|rewrite same; ring].
    apply sum_ext; intros b b_inside; f_equal.
    apply softmax_ext; [intros; ring|exact b_inside].
Qed.

(** Along the flow entropy rises at the rate of the squared norm. *)
Lemma entropy_rate :
  derivative (fun t => entropy n (fun b => z b + t * - own_covariance n z b)) 0
    (sum n (fun a => own_covariance n z a * own_covariance n z a)).
Proof.
  replace (sum n (fun a => own_covariance n z a * own_covariance n z a))
    with (first_order n z (fun b => - own_covariance n z b)).
  - apply (first_order_is_derivative n z (fun b => - own_covariance n z b) some).
  - rewrite first_order_eq, <- sum_opp by exact some; apply sum_ext; intros a _.
    unfold own_covariance; ring.
Qed.

Lemma gains_below_typical a : centered n (softmax n z) z a <= 0 -> 0 <= gain n z a.
Proof. intros rare; pose proof (at_most_typical_below_mean n z some a rare); unfold gain; lra. Qed.

Lemma below_uniform_is_rare a :
  (a < n)%nat -> softmax n z a <= / INR n -> centered n (softmax n z) z a <= 0.
Proof.
  intros inside low; rewrite <- log_softmax_plus_entropy by assumption.
  assert (positive : 0 < INR n) by (apply lt_0_INR, some).
  pose proof (entropy_at_most_log n z some).
  assert (log_softmax n z a <= ln (/ INR n)) by (apply ln_le_ln; [apply softmax_pos, some|exact low]).
  rewrite ln_Rinv in * by exact positive; lra.
Qed.

Lemma likeliest_loses k :
  (k < n)%nat -> (forall b, (b < n)%nat -> z b <= z k) -> gain n z k <= 0.
Proof.
  intros inside likeliest; unfold gain, excess, centered at 1.
  enough (mean n (softmax n z) (own_covariance n z) <= own_covariance n z k) by lra.
  rewrite <- (mean_const n (softmax n z) (own_covariance n z k)) by apply softmax_sum, some.
  apply mean_le; [intros; apply Rlt_le, softmax_pos, some|]; intros b b_inside.
  assert (top : 0 <= centered n (softmax n z) z k).
  { unfold centered; enough (mean n (softmax n z) z <= z k) by lra.
    rewrite <- (mean_const n (softmax n z) (z k)) by apply softmax_sum, some.
    apply mean_le; [intros; apply Rlt_le, softmax_pos, some|exact likeliest]. }
  specialize (likeliest b b_inside).
  pose proof (softmax_pos n z b some); pose proof (softmax_le n z b k some likeliest).
  unfold own_covariance.
  apply Rle_trans with (softmax n z b * centered n (softmax n z) z k).
  - apply Rmult_le_compat_l; [lra|unfold centered; lra].
  - apply Rmult_le_compat_r; assumption.
Qed.

End OneState.

Lemma who_gains :
  forall (n : nat) (logits : vector) (a : nat),
  (1 <= n)%nat -> (a < n)%nat ->
  0 <= Rmax (centered n (softmax n logits) logits a) (gain n logits a)
  /\ 0 <= Rmax (softmax n logits a - / INR n) (gain n logits a)
  /\ ((forall b, (b < n)%nat -> logits b <= logits a) -> 0 <= - gain n logits a).
Proof.
  intros n logits a one inside; assert (some : (0 < n)%nat) by lia; repeat split.
  - destruct (Rle_dec (centered n (softmax n logits) logits a) 0) as [rare|likely].
    + eapply Rle_trans; [|apply Rmax_r]; apply gains_below_typical; assumption.
    + eapply Rle_trans; [|apply Rmax_l]; lra.
  - destruct (Rle_dec (softmax n logits a) (/ INR n)) as [rare|likely].
    + eapply Rle_trans; [|apply Rmax_r].
      apply gains_below_typical, below_uniform_is_rare; assumption.
    + eapply Rle_trans; [|apply Rmax_l]; lra.
  - intros likeliest; pose proof (likeliest_loses n logits some a inside likeliest); lra.
Qed.

Lemma above_uniform_eq n z a :
  (0 < n)%nat ->
  Statements.aent.bonus_pulls_to_uniform.above_uniform n z a = softmax n z a - / INR n.
Proof.
  intros some; unfold Statements.aent.bonus_pulls_to_uniform.above_uniform, centered, mean; f_equal.
  rewrite (sum_ext n _ (fun b => / INR n * softmax n z b)) by (intros; unfold Rdiv; ring).
  rewrite sum_scal, softmax_sum by exact some; ring.
Qed.

Theorem proved : Statements.aent.bonus_pulls_to_uniform.repair.
Proof.
  intros n logits two; assert (some : (0 < n)%nat) by lia; split; [split; [|split]|split].
  - intros a inside; apply (who_gains n logits a ltac:(lia) inside).
  - intros a inside; rewrite above_uniform_eq by exact some; apply (who_gains n logits a ltac:(lia) inside).
  - intros a inside; destruct (Nat.eqb_spec (likeliest n logits) a) as [top|_]; [|lra].
    apply (who_gains n logits a ltac:(lia) inside); rewrite <- top.
    apply likeliest_spec, some.
  - intros a inside.
    apply derivative_ext with
      (f := fun t => log_softmax n (fun b => logits b + t * - own_covariance n logits b) a);
      [|apply (flow_of_log_probability n logits some a inside)].
    intros t; unfold log_softmax; f_equal; apply softmax_ext; [|exact inside].
    intros b _; change (Statements.aent.bonus_pulls_to_uniform.own_covariance n logits b)
      with (own_covariance n logits b); ring.
  - apply derivative_ext with
      (f := fun t => entropy n (fun b => logits b + t * - own_covariance n logits b));
      [|apply (entropy_rate n logits some)].
    intros t; apply entropy_ext; intros b _.
    change (Statements.aent.bonus_pulls_to_uniform.own_covariance n logits b)
      with (own_covariance n logits b); ring.
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.aent.bonus_pulls_to_uniform.witness.
Proof. exists 2%nat, (fun _ => 0); witnessed. Qed.

Theorem defined : Statements.aent.bonus_pulls_to_uniform.defined.
Proof. domains. Qed.
