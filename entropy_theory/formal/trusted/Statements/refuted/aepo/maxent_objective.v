(* Generated from the formula of the claim aepo.maxent-objective (AEPO, Section 3.2 (Entropy-Reg) with Definition B.1). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** [..., responses]: the number of tokens, the stop included. *)
Definition lengths (n : nat) (h : nat) (logits : state -> vector) : state -> R :=
  sum_along (fun s a => if running (fun _ b => Nat.eqb b 0) s then 1 else 0).

Definition printed : Prop :=
  forall (n h : nat) (logits : state -> vector),
  (2 <= n)%nat ->
  (1 <= h)%nat ->
  mean_responses n h logits (fun y => sum_along (fun s a => if running (fun _ b => Nat.eqb b 0) s then entropy n (logits s) + 0 else 0) y / lengths n h logits y) = - mean_responses n h logits (sum_along (fun s a => if running (fun _ b => Nat.eqb b 0) s then log_softmax n (logits s) a else 0)).

Definition defined : Prop :=
  forall (n h : nat) (logits : state -> vector),
  (2 <= n)%nat ->
  (1 <= h)%nat ->
  (forall y, response_of n h y -> lengths n h logits y <> 0).

(** There is an instance at which it fails. *)
Definition refuted : Prop := ~ printed.
