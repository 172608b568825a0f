(* Generated from the formula of the claim extension.kernel-sign (Extension of AEPO, Assumption B.4, and Entropy Mechanism, Theorem 1 (any parametrization)). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** The sum of products over the logits of all states. *)
Definition inner (n : nat) (prompts : nat) (x : nat -> nat -> R) (y : nat -> nat -> R) : R :=
  sum prompts (fun q => sum n (fun a => x q a * y q a)).

(** K g: how a gradient step of the shared parameters moves each logit. *)
Definition kernel_times (n : nat) (prompts : nat) (kernel : nat -> nat -> nat -> nat -> R) (step : nat -> nat -> R) : nat -> nat -> R :=
  fun q a => sum prompts (fun r => sum n (fun b => kernel q a r b * step r b)).

Definition statement : Prop :=
  forall (n prompts : nat) (logits : nat -> nat -> R) (kernel : nat -> nat -> nat -> nat -> R) (step : nat -> nat -> R) (scale : R),
  (2 <= n)%nat ->
  (1 <= prompts)%nat ->
  0 < scale ->
  inner n prompts (fun q a => kernel_times n prompts kernel step q a - scale * step q a) (fun q a => kernel_times n prompts kernel step q a - scale * step q a) * inner n prompts (fun q a => entropy_gradient n (logits q) a) (fun q a => entropy_gradient n (logits q) a) < (scale * inner n prompts (fun q a => entropy_gradient n (logits q) a) step) ^ 2 ->
  0 < inner n prompts (fun q a => entropy_gradient n (logits q) a) (kernel_times n prompts kernel step) * inner n prompts (fun q a => entropy_gradient n (logits q) a) step /\
  (forall path : R -> nat -> nat -> R, ((forall q, (q < prompts)%nat -> forall a, (a < n)%nat -> derivative (fun t => path t q a) (0) (kernel_times n prompts kernel step q a)) -> derivative (fun t => sum prompts (fun q => entropy n (path t q))) (0) (inner n prompts (fun q a => entropy_gradient n (path 0 q) a) (kernel_times n prompts kernel step)))).

Definition witness : Prop :=
  exists (n prompts : nat) (logits : nat -> nat -> R) (kernel : nat -> nat -> nat -> nat -> R) (step : nat -> nat -> R) (scale : R),
  (2 <= n)%nat /\
  (1 <= prompts)%nat /\
  0 < scale /\
  inner n prompts (fun q a => kernel_times n prompts kernel step q a - scale * step q a) (fun q a => kernel_times n prompts kernel step q a - scale * step q a) * inner n prompts (fun q a => entropy_gradient n (logits q) a) (fun q a => entropy_gradient n (logits q) a) < (scale * inner n prompts (fun q a => entropy_gradient n (logits q) a) step) ^ 2.

Definition witness_1 : Prop :=
  exists (n prompts : nat) (logits : nat -> nat -> R) (kernel : nat -> nat -> nat -> nat -> R) (step : nat -> nat -> R) (scale : R),
  (2 <= n)%nat /\
  (1 <= prompts)%nat /\
  0 < scale /\
  inner n prompts (fun q a => kernel_times n prompts kernel step q a - scale * step q a) (fun q a => kernel_times n prompts kernel step q a - scale * step q a) * inner n prompts (fun q a => entropy_gradient n (logits q) a) (fun q a => entropy_gradient n (logits q) a) < (scale * inner n prompts (fun q a => entropy_gradient n (logits q) a) step) ^ 2 /\
  (exists path : R -> nat -> nat -> R, (forall q, (q < prompts)%nat -> forall a, (a < n)%nat -> derivative (fun t => path t q a) (0) (kernel_times n prompts kernel step q a))).
