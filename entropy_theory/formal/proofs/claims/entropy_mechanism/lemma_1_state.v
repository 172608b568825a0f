(** Entropy Mechanism, Lemma 1, second approximation: at one state the entropy change is minus the covariance of
    log pi and the logit change, up to (1/4)(1 + log n) ||dz||^2, for every step dz. *)

From Coq Require Import Reals Lra Lia.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics TemperedReinforce Curvature EntropyChange FirstOrder.
From Trusted.Statements.entropy_mechanism Require lemma_1_state.
Open Scope R_scope.

(** The covariance is the first order: minus the derivative of entropy along the step. *)
Theorem slope :
  forall (n : nat) (logits step : vector),
  (1 <= n)%nat ->
  derivative (fun t => entropy n (fun a => logits a + t * step a)) 0
    (- covariance n (softmax n logits) (log_softmax n logits) step).
Proof.
  intros n logits step some; apply is_derive_Reals.
  rewrite <- slope_line_start; apply (is_derive_entropy_along_line n logits step); lia.
Qed.

Theorem proved : Statements.entropy_mechanism.lemma_1_state.statement.
Proof.
  intros n logits step many; split; [|apply slope; lia].
  unfold Rminus; rewrite Ropp_involutive; apply first_order_error; lia.
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.entropy_mechanism.lemma_1_state.witness.
Proof. exists 2%nat, (fun _ => 0), (fun _ => (- (1))); witnessed. Qed.

Theorem defined : Statements.entropy_mechanism.lemma_1_state.defined.
Proof. domains. Qed.
