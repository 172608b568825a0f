(** Entropy Mechanism, abstract: "the values of covariance term and entropy differences matched exactly".

    They do not; exact, for every step and so for a policy-gradient step eta pi A, is

        H(pi') - H(pi) = -Cov_pi(pi'/pi, log pi) - KL(pi' || pi). *)

From Coq Require Import Reals Lra Lia.
From Coquelicot Require Import Coquelicot.
From PolicyEntropy.library Require Import
  Definitions Basics TemperedReinforce Curvature CurvatureBounds EntropyChange.
From Statements.entropy_mechanism Require matched_exactly.
Open Scope R_scope.

(** The identity for any step, written with w = pi'/pi. *)
Theorem for_every_step :
  forall (n : nat) (logits step : vector),
  (1 <= n)%nat ->
  let p := softmax n logits in
  let log_growth := fun a => log_softmax n (moved_by logits step) a - log_softmax n logits a in
  let growth := fun a => exp (log_growth a) in
  entropy n (moved_by logits step) - entropy n logits
  + covariance n p (log_softmax n logits) growth
  + mean n p (fun a => growth a * log_growth a) = 0.
Proof.
  intros n logits step some p log_growth growth.
  change (entropy n (moved_by logits step) - entropy n logits) with (entropy_change n logits step).
  change growth with (ratio n logits step); unfold p.
  rewrite exact_change_1, mean_ratio, covariance_sym by lia.
  unfold divergence, log_growth; ring.
Qed.

(** * Where the printed form fails: at the uniform policy, for every step that moves it *)

Lemma ln_strictly_below y : 0 < y -> y <> 1 -> ln y < y - 1.
Proof.
  intros positive other.
  assert (ln y <> 0) as moved.
  { intros zero; apply other; rewrite <- (exp_ln y positive), zero; apply exp_0. }
  pose proof (exp_ineq1 (ln y) moved) as tangent; rewrite exp_ln in tangent; lra.
Qed.

Lemma divergence_pos n from to k :
  (k < n)%nat -> softmax n from k <> softmax n to k -> 0 < divergence n from to.
Proof.
  intros inside apart.
  assert (0 < n)%nat as some by lia.
  apply Rle_lt_trans with (sum n (fun a => softmax n from a - softmax n to a)).
  { rewrite sum_minus, !softmax_sum by assumption; lra. }
  assert (forall a, softmax n from a - softmax n to a
                    <= softmax n from a * (log_softmax n from a - log_softmax n to a)) as each.
  { intros a; unfold log_softmax.
    pose proof (entropy_term_below (softmax n from a) (softmax n to a)
                  (softmax_pos n from a some) (softmax_pos n to a some)); lra. }
  apply (sum_lt n _ _ k); [intros; apply each|assumption|].
  pose proof (softmax_pos n from k some) as p_pos; pose proof (softmax_pos n to k some) as q_pos.
  set (p := softmax n from k) in *; set (q := softmax n to k) in *.
  assert (q / p <> 1) as moved.
  { intros same; apply apart; apply Rmult_eq_reg_r with (/ p); [|apply Rinv_neq_0_compat; lra].
    rewrite Rinv_r by lra; symmetry; exact same. }
  pose proof (ln_strictly_below (q / p) (Rdiv_lt_0_compat _ _ q_pos p_pos) moved) as strict.
  rewrite ln_div in strict by assumption.
  apply (Rmult_lt_compat_l p) in strict; [|assumption].
  replace (p * (q / p - 1)) with (q - p) in strict by (field; lra).
  unfold log_softmax; fold p q; lra.
Qed.

Theorem never_at_the_uniform_policy :
  forall (n : nat) (logits step : vector) (level : R) (a b : nat),
  (forall k, logits k = level) -> (a < n)%nat -> (b < n)%nat -> step a < step b ->
  covariance n (softmax n logits) (log_softmax n logits) step = 0
  /\ entropy n (moved_by logits step) - entropy n logits < 0.
Proof.
  intros n logits step level a b flat a_inside b_inside moves.
  assert (0 < n)%nat as some by lia.
  assert (forall p f, sum n p = 1 -> covariance n p (log_softmax n logits) f = 0) as none.
  { intros p f one; rewrite covariance_log_softmax by assumption.
    rewrite (covariance_ext n p logits f (fun _ => level) f) by (intros; auto).
    rewrite covariance_sym; apply covariance_const_r, one. }
  split; [apply none, softmax_sum, some|].
  change (entropy n (moved_by logits step) - entropy n logits) with (entropy_change n logits step).
  rewrite exact_change_1, covariance_sym, none by (try apply softmax_sum; assumption).
  assert (softmax n (moved_by logits step) a < softmax n (moved_by logits step) b) as apart
    by (apply softmax_lt; [assumption|unfold moved_by; rewrite !flat; lra]).
  assert (softmax n logits a = softmax n logits b) as even by (unfold softmax; rewrite !flat; reflexivity).
  assert (0 < divergence n (moved_by logits step) logits); [|lra].
  destruct (Req_dec (softmax n (moved_by logits step) a) (softmax n logits a)) as [same|other].
  - apply (divergence_pos n _ _ b b_inside); lra.
  - apply (divergence_pos n _ _ a a_inside other).
Qed.

Theorem proved : Statements.entropy_mechanism.matched_exactly.repair.
Proof.
  intros n logits correct learning_rate many _ _; apply for_every_step; lia.
Qed.
