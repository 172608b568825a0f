(** AEPO, Section 3.2, as corrected: the sum of the token entropies along a response has the mean of the sum of
    -log pi over its tokens, whatever their number. *)

From Coq Require Import Reals Lra Lia.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Trees TreeValues.
From Trusted.Statements.aepo Require maxent_objective.
Open Scope R_scope.

Theorem proved : Statements.aepo.maxent_objective.repair.
Proof.
  unfold Statements.aepo.maxent_objective.repair; intros n h z several _.
  assert (0 < n)%nat as some by lia.
  rewrite <- !value_responses, !value_states, <- sum_states_opp by assumption.
  apply sum_states_ext; intros s _; destruct (running _ s).
  - rewrite mean_const by (apply softmax_sum, some); unfold entropy, mean, log_softmax; ring.
  - unfold mean; rewrite sum_scal_r; ring.
Qed.

From PolicyEntropy.library Require Import Witnesses.

Theorem witness : Statements.aepo.maxent_objective.witness.
Proof. exists 2%nat, 1%nat, (fun _ => (fun _ => 0)); witnessed. Qed.
