From Coq Require Import Reals.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** max (d - E d) *)
Definition largest_rise (n : nat) (p step : vector) : R := largest n (centered n p step).

Definition variance (n : nat) (p step : vector) : R := covariance n p step step.

Definition first_order (n : nat) (logits step : vector) : R :=
  - covariance n (softmax n logits) (log_softmax n logits) step.

Definition from_below : Prop :=
  forall (n : nat) (logits step : vector),
  (1 <= n)%nat ->
  let p := softmax n logits in
  - (exp (largest_rise n p step) / 2 * (variance n p step * (1 + ln (INR n))))
  <= entropy_change n logits step - first_order n logits step.

Definition from_below_on_the_way : Prop :=
  forall (n : nat) (logits step : vector) (K : R),
  (1 <= n)%nat ->
  (forall t, 0 <= t <= 1 -> variance n (softmax n (fun a => logits a + t * step a)) step <= K) ->
  - ((1 + ln (INR n)) * K / 2) <= entropy_change n logits step - first_order n logits step.
