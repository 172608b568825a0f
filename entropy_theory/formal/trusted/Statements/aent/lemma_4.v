(* Generated from the formula of the claim aent.lemma-4 (AEnt, Lemma 4 (A.17)). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** V_lambda at the root: the expected return plus lambda times the entropy of responses. *)
Definition regularized_value (n : nat) (h : nat) (logits : state -> vector) (reward : state -> R) (coefficient : R) : R :=
  mean_responses n h logits reward + coefficient * response_entropy n h logits.

(** r - lambda log pi on each (state, token), the return put on the last token. *)
Definition regularized_edge (n : nat) (h : nat) (logits : state -> vector) (reward : state -> R) (coefficient : R) : state -> vector :=
  fun s a => edge_reward h reward s a - coefficient * log_softmax n (logits s) a.

Definition statement : Prop :=
  forall (n h : nat) (logits : state -> vector) (reward : state -> R) (step : state -> vector) (coefficient : R),
  (2 <= n)%nat ->
  (1 <= h)%nat ->
  regularized_value n h (fun s a => logits s a + step s a) reward coefficient - regularized_value n h logits reward coefficient = sum_states n h (fun s => probability n (fun u a => logits u a + step u a) s * (mean n (softmax n (fun b => logits s b + step s b)) (fun a => action_value n h logits (regularized_edge n h logits reward coefficient) s a + coefficient * log_softmax n (logits s) a - coefficient * log_softmax n (fun b => logits s b + step s b) a) - value_at n h logits (regularized_edge n h logits reward coefficient) s)).

Definition witness : Prop :=
  exists (n h : nat) (logits : state -> vector) (reward : state -> R) (step : state -> vector) (coefficient : R),
  (2 <= n)%nat /\
  (1 <= h)%nat.
