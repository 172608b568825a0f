(* Generated from the formula of the claim extension.banded-signal (Extension of AEPO, Theorem 4.3 (corrections of a mismatched sampler)). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** sum_a pi_a w_a (e_a - pi). *)
Definition reweighted_step (n : nat) (logits : vector) (weight : vector) : vector :=
  fun a => softmax n logits a * centered n (softmax n logits) weight a.

(** The fall of entropy by this step, to first order. *)
Definition fall (n : nat) (logits : vector) (weight : vector) : R :=
  covariance n (softmax n logits) logits (reweighted_step n logits weight).

(** 1 at right actions and 0 at others, less the mean under the sampler. *)
Definition reward_over_sampler (n : nat) (logits : vector) (correct : mask) (temperature : R) : vector :=
  centered n (softmax n (tempered temperature logits)) (fun b => if correct b then 1 else 0).

(** mu/pi, for samples of mu = softmax(z + shift). *)
Definition over_policy (n : nat) (logits : vector) (shift : vector) : vector :=
  fun a => exp (log_softmax n (moved_by logits shift) a - log_softmax n logits a).

(** mu/pi, for samples of mu = softmax(z/T). *)
Definition tempered_ratio (n : nat) (logits : vector) (temperature : R) : vector :=
  over_policy n logits (fun b => logits b / temperature - logits b).

(** 1 where pi/mu is from 1/2 to 5, else 0. *)
Definition banded_weight (n : nat) (logits : vector) (temperature : R) : vector :=
  fun a => if orb (less (5 * tempered_ratio n logits temperature a) 1) (less 2 (tempered_ratio n logits temperature a)) then 0 else 1.

(** D = E|log pi + H|. *)
Definition surprise_spread (n : nat) (logits : vector) : R :=
  mean n (softmax n logits) (fun a => Rabs (centered n (softmax n logits) logits a)).

Definition repair : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (temperature : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  1 / 2 <= temperature ->
  temperature <= 2 ->
  mean n (softmax n logits) (fun a => 1 - banded_weight n logits temperature a) * surprise_spread n logits < Rabs (fall n logits (reward_over_sampler n logits correct temperature)) ->
  0 < fall n logits (fun a => banded_weight n logits temperature a * reward_over_sampler n logits correct temperature a) * fall n logits (reward_over_sampler n logits correct temperature).

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (correct : mask) (temperature : R),
  (2 <= n)%nat /\
  nonempty n correct /\
  1 / 2 <= temperature /\
  temperature <= 2 /\
  mean n (softmax n logits) (fun a => 1 - banded_weight n logits temperature a) * surprise_spread n logits < Rabs (fall n logits (reward_over_sampler n logits correct temperature)).

Definition reward_over_sampler_defined (n : nat) (logits : vector) (correct : mask) (temperature : R) (a : nat) : Prop :=
  temperature <> 0.

Definition tempered_ratio_defined (n : nat) (logits : vector) (temperature : R) (a : nat) : Prop :=
  temperature <> 0.

Definition banded_weight_defined (n : nat) (logits : vector) (temperature : R) (a : nat) : Prop :=
  tempered_ratio_defined n logits temperature a /\
  (~ (5 * tempered_ratio n logits temperature a < 1) -> tempered_ratio_defined n logits temperature a).

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (temperature : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  1 / 2 <= temperature ->
  temperature <= 2 ->
  mean n (softmax n logits) (fun a => 1 - banded_weight n logits temperature a) * surprise_spread n logits < Rabs (fall n logits (reward_over_sampler n logits correct temperature)) ->
  (forall a, (a < n)%nat -> reward_over_sampler_defined n logits correct temperature a) /\
  (forall a, (a < n)%nat -> banded_weight_defined n logits temperature a).
