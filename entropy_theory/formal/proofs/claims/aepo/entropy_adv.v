(** AEPO, Section 3.2: where no token reaches the cap, Entropy-Adv's offset is a baseline and changes no expected
    gradient. *)

From Coq Require Import Reals Lra Lia.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Masks.
From Trusted.Statements.aepo Require entropy_adv.
Open Scope R_scope.

Theorem proved : Statements.aepo.entropy_adv.repair.
Proof.
  intros n logits advantage beta kappa two beta_pos kappa_pos uncapped a inside.
  assert (0 < n)%nat as some by lia.
  (* psi is beta H for every token. *)
  assert (forall b, (b < n)%nat ->
    Rmin (beta * entropy n logits) (Rmax (advantage b) (- advantage b) / kappa) = beta * entropy n logits) as same.
  { intros b b_inside; apply Rmin_left; eapply Rle_trans; [exact uncapped|].
    apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat, kappa_pos|].
    apply (smallest_le n (fun c => Rmax (advantage c) (- advantage c))), b_inside. }
  unfold centered; rewrite same by exact inside.
  rewrite (mean_ext n _ _ (fun _ => beta * entropy n logits)) by exact same.
  rewrite mean_const by (apply softmax_sum, some); ring.
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.aepo.entropy_adv.witness.
Proof. exists 2%nat, (fun _ => 0), (fun _ => 1), (1 / 4), 2; witnessed. Qed.

Theorem defined : Statements.aepo.entropy_adv.defined.
Proof. domains. Qed.
