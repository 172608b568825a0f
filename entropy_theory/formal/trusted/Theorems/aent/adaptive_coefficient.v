From Coq Require Import Reals.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
Open Scope R_scope.

Definition returns (correct : mask) : vector := fun a => if correct a then 1 else 0.

(** The logits x r, and their entropy. *)
Definition line (correct : mask) (x : R) : vector := fun a => x * returns correct a.

Definition right_share (n : nat) (correct : mask) (x : R) : R :=
  total_on n correct (softmax n (line correct x)).

(** g of the vanilla gradient. *)
Definition vanilla (n : nat) (correct : mask) (x : R) : R :=
  INR n * right_share n correct x * (1 - right_share n correct x)
  / (count_on n correct * (INR n - count_on n correct)).

Definition sharpened_entropy (n : nat) (correct : mask) (x : R) : R := entropy n (line correct x).

Definition force (low high H : R) : R := Rmax (low - H) 0 - Rmax (H - high) 0.

(** The vanilla gradient of E r + lambda H moves the logit of a right action away from that of a wrong
    one at the speed g(x) (1 - lambda x). *)
Definition speed_of_vanilla_gradient : Prop :=
  forall (n : nat) (correct : mask),
  (0 < n)%nat -> nonempty n correct -> nonempty n (complement correct) ->
  forall (lambda x : R) (a b : nat),
  (a < n)%nat -> (b < n)%nat -> correct a = true -> correct b = false ->
  let p := softmax n (line correct x) in
  let zeta := fun c => returns correct c - lambda * log_softmax n (line correct x) c in
  p a * centered n p zeta a - p b * centered n p zeta b = vanilla n correct x * (1 - lambda * x).

(** At a time when x and lambda have derivatives and lambda is free or held by its box, the energy has
    a derivative, at most -lambda g u^2. [potential] is the integral of f(H(y)) y/g(y). *)
Definition energy_falls : Prop :=
  forall (n : nat) (correct : mask) (low high least most gain : R) (g potential x lambda : R -> R)
         (t s : R),
    (1 <= n)%nat -> 0 < least -> 0 < gain -> low < high -> least <= most ->
    low <= sharpened_entropy n correct (1 / most) ->
    sharpened_entropy n correct (1 / least) <= high ->
    (forall y, 0 < y -> 0 < g y) ->
    (forall y, 0 < y ->
       derivative potential y (force low high (sharpened_entropy n correct y) * y / g y)) ->
    let u r := 1 - lambda r * x r in
    let pull := force low high (sharpened_entropy n correct (x t)) in
    0 < x t -> least <= lambda t <= most ->
    derivative x t (g (x t) * u t) ->
    derivative lambda t s ->
    s = gain * pull \/ (s = 0 /\ (lambda t = most /\ 0 <= pull \/ lambda t = least /\ pull <= 0)) ->
    exists slope,
      derivative (fun r => u r * u r / 2 + gain * potential (x r)) t slope /\
      slope <= - (lambda t * g (x t) * (u t * u t)).
