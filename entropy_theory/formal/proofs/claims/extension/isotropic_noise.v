(** Extension of Entropy Mechanism, Lemma 1: independent noise of the logits raises the entropy of peaked policies, and
    lowers that of flat ones. *)

From Coq Require Import Reals Lra Lia Bool.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics OwnCovariance Noise.
From Trusted.Statements.extension Require isotropic_noise.
Open Scope R_scope.

Theorem proved : Statements.extension.isotropic_noise.statement.
Proof.
  intros n z two.
  change (Statements.extension.isotropic_noise.isotropic_effect n z) with (isotropic_effect n z).
  rewrite (largest_policy_is_top n z two), (total_rest n z two).
  set (p := softmax n z (likeliest n z)); split.
  - destruct (less p (1 / 2)) eqn:half; simpl; [lra|].
    destruct (less ((p - (1 - p)) * ln (p / (1 - p))) 1) eqn:enough; simpl; [lra|].
    apply less_false in half; apply less_false in enough; apply (peaked_raises n z two); fold p; lra.
  - set (D := largest n z - smallest n z).
    replace (smallest n z - largest n z) with (- D) by (unfold D; ring).
    destruct (less (1 + exp (- D)) (D * (1 - exp (- D)))) eqn:short; simpl; [lra|].
    apply less_false in short; pose proof (short_range_lowers n z two short); lra.
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.extension.isotropic_noise.witness.
Proof. exists 2%nat, (fun _ => 0); witnessed. Qed.

Theorem defined : Statements.extension.isotropic_noise.defined.
Proof.
  intros n z two; rewrite (largest_policy_is_top n z two), (total_rest n z two).
  pose proof (top_below_one n z two); split; intros half; [lra|apply Rdiv_lt_0_compat; lra].
Qed.
