(** Losses of the ratio on samples of an older policy: the weight r is exact at any drift, and the weight r^kappa
    misses the policy gradient by (kappa - 1) sum_a pi_a (d_a - E d) A_a (e_a - pi), to first order. *)

From Coq Require Import Reals Lra Lia List Bool.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Calculus Contributions TokenLosses.
From Trusted.Statements.extension Require loss_off_policy.
Open Scope R_scope.

Lemma one_moves (L S : R -> R) l m p k start x :
  is_derive L 0 l -> is_derive S 0 m ->
  is_derive (fun t => p * exp (k * (L t - start)) * x - S t * x) 0
    (p * (exp (k * (L 0 - start)) * (k * l)) * x - m * x).
Proof.
  intros first second; evar_last.
  - auto_derive; [split; [eexists; exact first|split; [eexists; exact second|trivial]]|reflexivity].
  - simpl; replace (Derive (fun y : R => L y) 0) with l by (symmetry; exact (is_derive_unique _ _ _ first)).
    replace (Derive (fun y : R => S y) 0) with m by (symmetry; exact (is_derive_unique _ _ _ second)).
    unfold Rminus; ring.
Qed.

Section OneState.

Variables (n : nat) (z s d : vector) (kappa : R).
Hypothesis some : (0 < n)%nat.

Let p := softmax n z.
Let u := centered n p d.
Let there (t : R) : vector := fun a => z a + t * d a.
(** What the weight r^kappa has beside r, and what a step makes of it. *)
Let beside (t : R) : vector := fun b =>
  p b * exp (kappa * (log_softmax n (there t) b - log_softmax n z b)) * s b - softmax n (there t) b * s b.

Lemma softmax_at_start a : (a < n)%nat -> softmax n (there 0) a = p a.
Proof. intros inside; apply softmax_ext; [intros; unfold there; ring|exact inside]. Qed.

Lemma centered_at_start a : centered n (softmax n (there 0)) d a = u a.
Proof.
  unfold u, centered; f_equal; apply sum_ext; intros b inside; rewrite softmax_at_start by exact inside.
  reflexivity.
Qed.

Lemma log_softmax_at_start a : (a < n)%nat -> log_softmax n (there 0) a = log_softmax n z a.
Proof. intros inside; unfold log_softmax; rewrite softmax_at_start by exact inside; reflexivity. Qed.

Lemma beside_at_start a : (a < n)%nat -> beside 0 a = 0.
Proof.
  intros inside; unfold beside; rewrite softmax_at_start, log_softmax_at_start by exact inside.
  replace (log_softmax n z a - log_softmax n z a) with 0 by ring; rewrite Rmult_0_r, exp_0; ring.
Qed.

Lemma beside_moves a : (a < n)%nat -> is_derive (fun t => beside t a) 0 ((kappa - 1) * (p a * (u a * s a))).
Proof.
  intros inside.
  assert (forall b, (b < n)%nat -> is_derive (fun t => there t b) 0 (d b)) as moves
    by (intros; apply is_derive_line).
  pose proof (is_derive_log_softmax n there d 0 some moves a inside) as logs.
  pose proof (is_derive_softmax n there d 0 some moves a inside) as probabilities.
  rewrite centered_at_start in logs, probabilities; rewrite softmax_at_start in probabilities by exact inside.
  evar_last; [apply (one_moves _ _ _ _ (p a) kappa (log_softmax n z a) (s a) logs probabilities)|].
  rewrite log_softmax_at_start by exact inside.
  replace (log_softmax n z a - log_softmax n z a) with 0 by ring; rewrite Rmult_0_r, exp_0; ring.
Qed.

Lemma gap_moves a :
  (a < n)%nat ->
  is_derive (fun t => beside t a - sum n (beside t) * softmax n (there t) a) 0
    ((kappa - 1) * score_step n z (fun b => p b * (u b * s b)) a).
Proof.
  intros inside.
  assert (forall b, (b < n)%nat -> is_derive (fun t => there t b) 0 (d b)) as moves
    by (intros; apply is_derive_line).
  evar_last.
  - apply @is_derive_minus; [apply beside_moves, inside|].
    apply @is_derive_mult; [|apply (is_derive_softmax n there d 0 some moves a inside)|intros; apply Rmult_comm].
    apply (is_derive_sum n beside (fun b => (kappa - 1) * (p b * (u b * s b)))); intros; apply beside_moves.
    assumption.
  - assert (sum n (beside 0) = 0) as nothing.
    { rewrite (sum_ext n _ (fun _ => 0)) by (intros; apply beside_at_start; assumption); apply sum_zero. }
    unfold minus, plus, opp; simpl; unfold mult; simpl; cbv beta.
    rewrite nothing, softmax_at_start by exact inside; rewrite sum_scal; unfold score_step; fold p; ring.
Qed.

End OneState.

Theorem proved : Statements.extension.loss_off_policy.statement.
Proof.
  intros n logits score drift slope two; assert (some : (0 < n)%nat) by lia; split.
  - intros a inside; apply (score_step_ext n logits); [exact inside|]; intros b _.
    unfold Statements.extension.loss_off_policy.ratio.
    pose proof (softmax_pos n (fun c => logits c - drift c) b some); field; lra.
  - intros a inside; apply derivative_of_is_derive.
    pose proof (gap_moves n logits score drift slope some a inside) as found.
    apply is_derive_ext with (2 := found); intros t.
    unfold Statements.extension.loss_off_policy.score_step, Statements.extension.loss_off_policy.weighted.
    rewrite sum_minus; match goal with |- ?x = ?y => change (@eq R x y) end; ring.
Qed.

From PolicyEntropy.library Require Import Domains Witnesses.

Theorem witness : Statements.extension.loss_off_policy.witness.
Proof. exists 2%nat, (fun _ => 0), (fun _ => 0), (fun _ => 0), 1; witnessed. Qed.

Theorem defined : Statements.extension.loss_off_policy.defined.
Proof. domains. Qed.
