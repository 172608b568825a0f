From Coq Require Import Reals.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** c_a = Cov_pi(z, delta_a). *)
Definition own_covariance (n : nat) (z : vector) : vector :=
  fun a => softmax n z a * centered n (softmax n z) z a.

(** c_a - C. *)
Definition excess (n : nat) (z : vector) : vector := centered n (softmax n z) (own_covariance n z).

(** F(T), and F(1) written without a temperature. *)
Definition rate (n : nat) (logits : vector) (correct : mask) (temperature : R) : R :=
  - total_on n correct (fun a => softmax n (tempered temperature logits) a * excess n logits a).

Definition untempered_rate (n : nat) (logits : vector) (correct : mask) : R :=
  - total_on n correct (fun a => softmax n logits a * excess n logits a).

(** The effects of right and wrong samples together, E+ + E-, are F(T) - P_T F_all(T). *)
Definition effect_of_centering : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (temperature : R),
  0 < temperature ->
  let hot := softmax n (tempered temperature logits) in
  - sum n (fun a => hot a * ((if correct a then 1 else 0) - total_on n correct hot) * excess n logits a)
  = rate n logits correct temperature
    - total_on n correct hot * rate n logits (fun _ => true) temperature.

(** At T = 1 both kinds of samples have the sign of F(1): E+ = (1 - p) F(1) and E- = p F(1). *)
Definition no_counteraction_at_one : Prop :=
  forall (n : nat) (logits : vector) (correct : mask),
  (1 <= n)%nat ->
  let p := total_on n correct (softmax n logits) in
  - total_on n correct (fun a => softmax n logits a * (1 - p) * excess n logits a)
  = (1 - p) * untempered_rate n logits correct
  /\ - total_on n (complement correct) (fun a => softmax n logits a * (0 - p) * excess n logits a)
  = p * untempered_rate n logits correct.
