(* Generated from the formula of the claim extension.noise-level (Extension of Entropy Mechanism, Lemma 1 (noise of mean zero)). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** The second order under isotropic noise. *)
Definition isotropic_closed (p : R) (q : R) (gap : R) (others : R) : R :=
  others * q * (p * (p - q) * gap - (1 + p - q) / 2).

(** p = e^D/(e^D + m). *)
Definition likely (gap : R) (others : R) : R :=
  1 / (1 + others * exp (- gap)).

(** q = 1/(e^D + m). *)
Definition rare (gap : R) (others : R) : R :=
  exp (- gap) / (1 + others * exp (- gap)).

(** The second order under SGD's noise. *)
Definition score_closed (p : R) (q : R) (gap : R) (others : R) : R :=
  others * q * q / 2 * (p * (p - q) * gap * ((2 * p - 1) * others + 2 * p + 1) - (p * p * (others + 2) + 1 - q * (1 + p))).

Definition statement : Prop :=
  forall (others : R) (gap : R) (factor : R) (peak : R),
  1 <= others ->
  0 < gap ->
  1 < factor ->
  0 < peak ->
  peak < 1 ->
  (0 < (if less (isotropic_closed (likely gap others) (rare gap others) gap others) 0 then 1 else isotropic_closed (likely (gap * factor) others) (rare (gap * factor) others) (gap * factor) others) /\
  0 < (if less (score_closed (likely gap others) (rare gap others) gap others) 0 then 1 else score_closed (likely (gap * factor) others) (rare (gap * factor) others) (gap * factor) others)) /\
  tends_to (fun k => isotropic_closed peak ((1 - peak) / INR (S (S k))) (ln (peak / ((1 - peak) / INR (S (S k))))) (INR (S (S k))) / ln (INR (S (S k)))) ((1 - peak) * (peak * peak)) /\
  tends_to (fun k => score_closed peak ((1 - peak) / INR (S (S k))) (ln (peak / ((1 - peak) / INR (S (S k))))) (INR (S (S k))) / ln (INR (S (S k)))) ((1 - peak) * (1 - peak) * (peak * peak) * (2 * peak - 1) / 2).

Definition witness : Prop :=
  exists (others : R) (gap : R) (factor : R) (peak : R),
  1 <= others /\
  0 < gap /\
  1 < factor /\
  0 < peak /\
  peak < 1.

Definition likely_defined (gap : R) (others : R) : Prop :=
  1 + others * exp (- gap) <> 0.

Definition rare_defined (gap : R) (others : R) : Prop :=
  1 + others * exp (- gap) <> 0.

Definition defined : Prop :=
  forall (others : R) (gap : R) (factor : R) (peak : R),
  1 <= others ->
  0 < gap ->
  1 < factor ->
  0 < peak ->
  peak < 1 ->
  likely_defined gap others /\
  rare_defined gap others /\
  (~ (isotropic_closed (likely gap others) (rare gap others) gap others < 0) -> likely_defined (gap * factor) others) /\
  (~ (isotropic_closed (likely gap others) (rare gap others) gap others < 0) -> rare_defined (gap * factor) others) /\
  (~ (score_closed (likely gap others) (rare gap others) gap others < 0) -> likely_defined (gap * factor) others) /\
  (~ (score_closed (likely gap others) (rare gap others) gap others < 0) -> rare_defined (gap * factor) others) /\
  (forall k : nat, INR (S (S k)) <> 0) /\
  (forall k : nat, (1 - peak) / INR (S (S k)) <> 0) /\
  (forall k : nat, 0 < peak / ((1 - peak) / INR (S (S k)))) /\
  (forall k : nat, 0 < INR (S (S k))) /\
  (forall k : nat, ln (INR (S (S k))) <> 0).
