(** Entropy Mechanism, the ceiling at zero entropy, as repaired: a prompt without entropy is all right or
    all wrong. The smaller of the two probabilities is at most H / (2 log 2). *)

From Coq Require Import Reals Lra Lia Psatz.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Inequalities.
From Trusted.Statements.entropy_mechanism Require ceiling.
Open Scope R_scope.

Theorem proved : Statements.entropy_mechanism.ceiling.repair.
Proof.
  unfold Statements.entropy_mechanism.ceiling.repair, Statements.entropy_mechanism.ceiling.performance,
    Statements.entropy_mechanism.ceiling.failure.
  intros n logits correct some _.
  assert (0 < n)%nat as n_positive by lia.
  change (fun a => negb (correct a)) with (complement correct).
  set (p := total_on n correct (softmax n logits)).
  assert (total_on n (complement correct) (softmax n logits) = 1 - p) as rest.
  { pose proof (total_on_split n correct (softmax n logits)) as split.
    rewrite softmax_sum in split by exact n_positive; unfold p; lra. }
  assert (forall A, 0 <= total_on n A (softmax n logits)) as nonneg
    by (intros; apply total_on_nonneg; intros; apply Rlt_le, softmax_pos, n_positive).
  pose proof (nonneg correct) as right; pose proof (nonneg (complement correct)) as wrong.
  fold p in right; rewrite rest in *.
  eapply Rle_trans; [|apply (entropy_of_event n logits correct n_positive)]; fold p.
  eapply Rle_trans; [|apply binary_entropy_lower; lra].
  pose proof ln_2_pos; rewrite (Rmult_assoc 4), (Rmult_comm (ln 2)), <- Rmult_assoc.
  replace (2 * ln 2 * Rmin p (1 - p)) with (2 * Rmin p (1 - p) * ln 2) by ring.
  apply Rmult_le_compat_r; [lra|]; unfold Rmin; destruct (Rle_dec p (1 - p)); nra.
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.entropy_mechanism.ceiling.witness.
Proof. exists 2%nat, (fun _ => 0), (fun a => Nat.eqb a 1); witnessed. Qed.

Theorem defined : Statements.entropy_mechanism.ceiling.defined.
Proof. domains. Qed.
