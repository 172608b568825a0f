(* Generated from the formula of the claim aepo.target-distributions (AEPO, Section 7 (learning under target distributions)). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

Definition repair : Prop :=
  forall (n : nat) (logits : vector) (target_logits : vector),
  (2 <= n)%nat ->
  mean n (softmax n target_logits) (centered n (softmax n logits) (fun b => softmax n target_logits b - softmax n logits b)) = sum n (fun a => (softmax n target_logits a - softmax n logits a) * (softmax n target_logits a - softmax n logits a)).

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (target_logits : vector),
  (2 <= n)%nat.
