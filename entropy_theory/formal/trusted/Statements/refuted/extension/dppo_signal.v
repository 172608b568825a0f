(* Generated from the formula of the claim extension.dppo-signal (Extension of AEPO, Theorem 4.3 (corrections of a mismatched sampler)). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** sum_a pi_a w_a (e_a - pi). *)
Definition reweighted_step (n : nat) (logits : vector) (weight : vector) : vector :=
  fun a => softmax n logits a * centered n (softmax n logits) weight a.

(** The fall of entropy by this step, to first order. *)
Definition fall (n : nat) (logits : vector) (weight : vector) : R :=
  covariance n (softmax n logits) logits (reweighted_step n logits weight).

(** 0 where pi - mu is above 1/5 at a right action or below -1/5 at a wrong one, else 1. *)
Definition dppo_weight (n : nat) (logits : vector) (correct : mask) (temperature : R) : vector :=
  fun a => if less 1 (if correct a then 5 * (softmax n logits a - softmax n (tempered temperature logits) a) else - (5 * (softmax n logits a - softmax n (tempered temperature logits) a))) then 0 else 1.

(** 1 at right actions and 0 at others, less the mean under the sampler. *)
Definition reward_over_sampler (n : nat) (logits : vector) (correct : mask) (temperature : R) : vector :=
  centered n (softmax n (tempered temperature logits)) (fun b => if correct b then 1 else 0).

Definition printed : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (temperature : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  1 / 2 <= temperature ->
  temperature <= 2 ->
  0 <= fall n logits (fun a => dppo_weight n logits correct temperature a * reward_over_sampler n logits correct temperature a) * fall n logits (reward_over_sampler n logits correct temperature).

Definition dppo_weight_defined (n : nat) (logits : vector) (correct : mask) (temperature : R) (a : nat) : Prop :=
  temperature <> 0.

Definition reward_over_sampler_defined (n : nat) (logits : vector) (correct : mask) (temperature : R) (a : nat) : Prop :=
  temperature <> 0.

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (temperature : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  1 / 2 <= temperature ->
  temperature <= 2 ->
  (forall a, (a < n)%nat -> dppo_weight_defined n logits correct temperature a) /\
  (forall a, (a < n)%nat -> reward_over_sampler_defined n logits correct temperature a).

(** There is an instance at which it fails. *)
Definition refuted : Prop := ~ printed.
