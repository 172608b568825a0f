(** What the theorems beside extension.group_normalization_limit suppose can be met; what they speak of is defined. *)

From Coq Require Import Reals List.
From Trusted Require Import Definitions.
From Trusted.Theorems.extension Require Import group_normalization_limit.
Open Scope R_scope.

Definition advantages_by_count_witness : Prop :=
  exists (correct : mask) (g : state),
  let G := INR (length g) in
  let k := total_over g (fun a => if correct a then 1 else 0) in
  0 < k /\
  k < G.

Definition advantages_by_count_defined : Prop :=
  forall (correct : mask) (g : state) (b : nat),
  let G := INR (length g) in
  let k := total_over g (fun a => if correct a then 1 else 0) in
  0 < k ->
  k < G ->
  (correct b = true ->
  k <> 0 /\
  0 <= (G - k) / k) /\
  (correct b = false ->
  G - k <> 0 /\
  0 <= k / (G - k)).

Definition the_only_wrong_one_witness : Prop :=
  exists (correct : mask) (g : state) (b : nat),
  (2 <= length g)%nat /\
  correct b = false /\
  total_over g (fun a => if correct a then 1 else 0) = INR (length g) - 1.

Definition the_only_wrong_one_defined : Prop :=
  forall (correct : mask) (g : state) (b : nat),
  (2 <= length g)%nat ->
  correct b = false ->
  total_over g (fun a => if correct a then 1 else 0) = INR (length g) - 1 ->
  0 <= INR (length g) - 1.
