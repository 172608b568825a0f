From Coq Require Import Reals.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** Logits on the line from z in direction d. *)
Definition line (z d : vector) (t : R) : vector := fun a => z a + t * d a.

(** KL(softmax(from) || softmax(to)). *)
Definition divergence (n : nat) (from to : vector) : R :=
  mean n (softmax n from) (fun a => log_softmax n from a - log_softmax n to a).

(** pi'/pi *)
Definition ratio (n : nat) (z d : vector) : vector :=
  fun a => exp (log_softmax n (moved_by z d) a - log_softmax n z a).

(** E3: the change is the integral of its slope, and the divergence that of t times a variance. *)
Definition integrals : Prop :=
  forall (n : nat) (logits step : vector),
  (1 <= n)%nat ->
  is_RInt (fun t => - covariance n (softmax n (line logits step t)) (log_softmax n (line logits step t)) step) 0 1
    (entropy_change n logits step)
  /\
  is_RInt (fun t => t * covariance n (softmax n (line logits step t)) step step) 0 1
    (divergence n (moved_by logits step) logits).

(** The divergence only lowers entropy. *)
Definition divergence_pushes_down : Prop :=
  forall (n : nat) (logits step : vector),
  (1 <= n)%nat ->
  0 <= divergence n (moved_by logits step) logits
  /\ entropy_change n logits step
     <= - covariance n (softmax n logits) (ratio n logits step) (log_softmax n logits).
