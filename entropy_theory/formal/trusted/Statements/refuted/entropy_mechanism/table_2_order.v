(* Generated from the formula of the claim entropy-mechanism.table-2-order (Entropy Mechanism, Table 2). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

Definition printed : Prop :=
  forall (n : nat) (clip_cov : vector) (kl_cov : vector),
  n = 7%nat ->
  ((clip_cov 0%nat = 221 / 10 /\ clip_cov 1%nat = 79 / 5 /\ clip_cov 2%nat = 291 / 5 /\ clip_cov 3%nat = 402 / 5 /\ clip_cov 4%nat = 61 / 2 /\ clip_cov 5%nat = 441 / 10 /\ clip_cov 6%nat = 411 / 10 /\ kl_cov 0%nat = 113 / 5 /\ kl_cov 1%nat = 129 / 10 /\ kl_cov 2%nat = 307 / 5 /\ kl_cov 3%nat = 404 / 5 /\ kl_cov 4%nat = 291 / 10 /\ kl_cov 5%nat = 213 / 5 /\ kl_cov 6%nat = 191 / 5) \/
   (clip_cov 0%nat = 323 / 10 /\ clip_cov 1%nat = 227 / 10 /\ clip_cov 2%nat = 336 / 5 /\ clip_cov 3%nat = 87 /\ clip_cov 4%nat = 42 /\ clip_cov 5%nat = 286 / 5 /\ clip_cov 6%nat = 46 /\ kl_cov 0%nat = 184 / 5 /\ kl_cov 1%nat = 154 / 5 /\ kl_cov 2%nat = 149 / 2 /\ kl_cov 3%nat = 423 / 5 /\ kl_cov 4%nat = 391 / 10 /\ kl_cov 5%nat = 49 /\ kl_cov 6%nat = 463 / 10)) ->
  0 < sum n (fun a => kl_cov a - clip_cov a) / INR n + 1 / 10.

Definition defined : Prop :=
  forall (n : nat) (clip_cov : vector) (kl_cov : vector),
  n = 7%nat ->
  ((clip_cov 0%nat = 221 / 10 /\ clip_cov 1%nat = 79 / 5 /\ clip_cov 2%nat = 291 / 5 /\ clip_cov 3%nat = 402 / 5 /\ clip_cov 4%nat = 61 / 2 /\ clip_cov 5%nat = 441 / 10 /\ clip_cov 6%nat = 411 / 10 /\ kl_cov 0%nat = 113 / 5 /\ kl_cov 1%nat = 129 / 10 /\ kl_cov 2%nat = 307 / 5 /\ kl_cov 3%nat = 404 / 5 /\ kl_cov 4%nat = 291 / 10 /\ kl_cov 5%nat = 213 / 5 /\ kl_cov 6%nat = 191 / 5) \/
   (clip_cov 0%nat = 323 / 10 /\ clip_cov 1%nat = 227 / 10 /\ clip_cov 2%nat = 336 / 5 /\ clip_cov 3%nat = 87 /\ clip_cov 4%nat = 42 /\ clip_cov 5%nat = 286 / 5 /\ clip_cov 6%nat = 46 /\ kl_cov 0%nat = 184 / 5 /\ kl_cov 1%nat = 154 / 5 /\ kl_cov 2%nat = 149 / 2 /\ kl_cov 3%nat = 423 / 5 /\ kl_cov 4%nat = 391 / 10 /\ kl_cov 5%nat = 49 /\ kl_cov 6%nat = 463 / 10)) ->
  INR n <> 0.

(** There is an instance at which it fails. *)
Definition refuted : Prop := ~ printed.
