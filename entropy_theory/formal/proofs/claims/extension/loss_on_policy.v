(** Losses of the ratio r = pi/pi_old: at r = 1 the coefficients of PPO's clip, CE-GPPO, CISPO, DPPO, SAPO, VESPO,
    TOPR and DRO are the advantage, whatever their options. *)

From Coq Require Import Reals Lra Lia List Bool.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Calculus Comparisons.
From Trusted.Statements.extension Require loss_on_policy.
Open Scope R_scope.

(** Logits that differ by a constant are one policy. *)
Lemma softmax_shift n z x a : (0 < n)%nat -> softmax n (fun b => z b + x) a = softmax n z a.
Proof.
  intros some; unfold softmax; rewrite exp_plus, (sum_ext n _ (fun b => exp (z b) * exp x))
    by (intros; apply exp_plus).
  rewrite sum_scal_r; pose proof (exp_pos x); pose proof (normalizer_pos n z some); field; lra.
Qed.

Lemma not_less_than x y : y <= x -> less x y = false.
Proof. intros; apply is_not_less; assumption. Qed.

Lemma gate_at_1 tau : 4 * 1 * exp (- tau * (1 - 1)) / (1 + exp (- tau * (1 - 1))) ^ 2 = 1.
Proof. replace (- tau * (1 - 1)) with 0 by ring; rewrite exp_0; field. Qed.

Theorem proved : Statements.extension.loss_on_policy.statement.
Proof.
  intros n logits score clip_low clip_high kept_low kept_high delta tau power decay beta shift
    two low_pos low_below high_pos high_below kept_low_pos kept_high_pos delta_pos delta_below tau_pos power_pos
    decay_pos beta_pos.
  assert (some : (0 < n)%nat) by lia.
  assert (same : forall a, softmax n (fun c => logits c + shift) a = softmax n logits a)
    by (intros; apply softmax_shift, some).
  assert (ratio : forall a, softmax n logits a / softmax n (fun c => logits c + shift) a = 1).
  { intros a; rewrite same; pose proof (softmax_pos n logits a some); field; lra. }
  split; [repeat split|split; [|split]]; intros a _.
  - unfold Statements.extension.loss_on_policy.ce_gppo; rewrite !ratio.
    rewrite (not_less_than (1 + clip_high) 1), (not_less_than 1 (1 - clip_low)) by lra.
    destruct (less 0 (score a)); ring.
  - unfold Statements.extension.loss_on_policy.ce_gppo; rewrite !ratio.
    rewrite (not_less_than (1 + clip_high) 1), (not_less_than 1 (1 - clip_low)) by lra.
    destruct (less 0 (score a)); ring.
  - unfold Statements.extension.loss_on_policy.cispo; rewrite ratio, Rmax_left, Rmin_left by lra; ring.
  - unfold Statements.extension.loss_on_policy.dppo; rewrite ratio, same.
    replace (if less 0 (score a) then softmax n logits a - softmax n logits a
             else softmax n logits a - softmax n logits a) with 0 by (destruct (less 0 (score a)); ring).
    rewrite not_less_than by lra; ring.
  - unfold Statements.extension.loss_on_policy.gate; rewrite ratio, gate_at_1; ring.
  - unfold Statements.extension.loss_on_policy.bump; rewrite ratio, ln_1.
    replace (power * 0 + decay * (1 - 1)) with 0 by ring; rewrite exp_0; ring.
  - unfold Statements.extension.loss_on_policy.topr; rewrite ratio, Rmin_left by lra.
    destruct (less 0 (score a)); ring.
  - unfold Statements.extension.loss_on_policy.dro; rewrite ratio, ln_1; ring.
  - apply derivative_of_is_derive; unfold Statements.extension.loss_on_policy.gate; evar_last.
    + auto_derive; [|reflexivity].
      repeat split; apply Rgt_not_eq; pose proof (exp_pos (- tau * (1 + 0 + - (1)))); nra.
    + simpl; replace (- tau * (1 + 0 + - (1))) with 0 by ring; rewrite exp_0; field.
  - apply derivative_of_is_derive; unfold Statements.extension.loss_on_policy.bump; evar_last.
    + auto_derive; [lra|reflexivity].
    + simpl; replace (1 + 0) with 1 by ring; rewrite ln_1.
      replace (power * 0 + decay * (1 + - (1))) with 0 by ring; rewrite exp_0; field.
  - apply derivative_of_is_derive; unfold Statements.extension.loss_on_policy.dro; evar_last.
    + auto_derive; [lra|reflexivity].
    + field.
Qed.

From PolicyEntropy.library Require Import Domains Witnesses.

Theorem witness : Statements.extension.loss_on_policy.witness.
Proof.
  exists 2%nat, (fun _ => 0), (fun _ => 0), (1 / 2), (1 / 2), 1, 1, (1 / 2), 1, 1, 1, 1, 1; witnessed.
Qed.

Theorem defined : Statements.extension.loss_on_policy.defined.
Proof. domains. Qed.
