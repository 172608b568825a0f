(* Generated from the counterexample of aepo.arbitrary-entropy. *)

From Coq Require Import Reals List.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Refuting.
From Trusted.Statements.refuted.aepo Require arbitrary_entropy.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.refuted.aepo.arbitrary_entropy.refuted.
Proof.
  intros claim; specialize (claim 2%nat
    (log_weights [1; 1])
    (marks [false; true])
    (1 / 2)
    1).
  refute claim 2%nat.
Qed.

From Coq Require Import Lra Lia.
From Coquelicot Require Import Coquelicot.
From PolicyEntropy.library Require Import Basics Masks Domains TreeDomains.

Theorem defined : Statements.refuted.aepo.arbitrary_entropy.defined.
Proof.
  domains.
  match goal with H : exp ?bound < Statements.refuted.aepo.arbitrary_entropy.count ?n _ ?A / INR ?n |- _ =>
    pose proof (count_on_at_most n A) as most; change (count_on n A <= INR n) in most;
    assert (0 < INR n) as actions by (apply lt_0_INR; lia);
    apply Rlt_div_r in H; [|exact actions];
    change (Statements.refuted.aepo.arbitrary_entropy.count n _ A) with (count_on n A) in H;
    enough (exp bound < 1) by lra; nra end.
Qed.
