(* Generated from the formula of the claim extension.uncorrected-signal (Extension of AEPO, Theorem 4.3 (corrections of a mismatched sampler)). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** sum_a pi_a w_a (e_a - pi). *)
Definition reweighted_step (n : nat) (logits : vector) (weight : vector) : vector :=
  fun a => softmax n logits a * centered n (softmax n logits) weight a.

(** The fall of entropy by this step, to first order. *)
Definition fall (n : nat) (logits : vector) (weight : vector) : R :=
  covariance n (softmax n logits) logits (reweighted_step n logits weight).

(** mu/pi, for samples of mu = softmax(z + shift). *)
Definition over_policy (n : nat) (logits : vector) (shift : vector) : vector :=
  fun a => exp (log_softmax n (moved_by logits shift) a - log_softmax n logits a).

(** mu/pi, for samples of mu = softmax(z/T). *)
Definition tempered_ratio (n : nat) (logits : vector) (temperature : R) : vector :=
  over_policy n logits (fun b => logits b / temperature - logits b).

(** 1 at right actions and 0 at others, less the mean under the sampler. *)
Definition reward_over_sampler (n : nat) (logits : vector) (correct : mask) (temperature : R) : vector :=
  centered n (softmax n (tempered temperature logits)) (fun b => if correct b then 1 else 0).

Definition printed : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (temperature : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  1 / 2 <= temperature ->
  temperature <= 2 ->
  0 <= (10 * temperature - 9) * (11 - 10 * temperature) ->
  0 <= fall n logits (fun a => tempered_ratio n logits temperature a * reward_over_sampler n logits correct temperature a) * fall n logits (reward_over_sampler n logits correct temperature).

Definition tempered_ratio_defined (n : nat) (logits : vector) (temperature : R) (a : nat) : Prop :=
  temperature <> 0.

Definition reward_over_sampler_defined (n : nat) (logits : vector) (correct : mask) (temperature : R) (a : nat) : Prop :=
  temperature <> 0.

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (temperature : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  1 / 2 <= temperature ->
  temperature <= 2 ->
  0 <= (10 * temperature - 9) * (11 - 10 * temperature) ->
  (forall a, (a < n)%nat -> tempered_ratio_defined n logits temperature a) /\
  (forall a, (a < n)%nat -> reward_over_sampler_defined n logits correct temperature a).

(** There is an instance at which it fails. *)
Definition refuted : Prop := ~ printed.
