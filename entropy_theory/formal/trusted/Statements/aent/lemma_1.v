(* Generated from the formula of the claim aent.lemma-1 (AEnt, Lemma 1 (A.1)). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** sum_y pi(y) weight(y) d log pi(y)/dlogits: REINFORCE, written out over the responses. *)
Definition response_gradient (n : nat) (h : nat) (logits : state -> vector) (weight : state -> R) : state -> vector :=
  fun s a => total_through n h (fun y => probability n logits y * weight y) s a - sum n (total_through n h (fun y => probability n logits y * weight y) s) * softmax n (logits s) a.

(** -d/dtheta sum_y pi(y) log pi(y) = -sum_y pi(y) (log pi(y) + 1) d log pi(y). *)
Definition direct_gradient (n : nat) (h : nat) (logits : state -> vector) : state -> vector :=
  fun s a => - response_gradient n h logits (fun y => sum_along (fun u b => log_softmax n (logits u) b) y + 1) s a.

(** d(s) pi(a|s) (-log pi(a|s) + H_to(sa) - H_to(s)). *)
Definition gradient_by_state (n : nat) (h : nat) (logits : state -> vector) : state -> vector :=
  fun s a => probability n logits s * softmax n (logits s) a * (action_value n h logits (fun u b => - log_softmax n (logits u) b) s a - value_at n h logits (fun u b => - log_softmax n (logits u) b) s).

(** (A.1): minus each token's score times the log-probability of the rest of the response. *)
Definition gradient_from_here_on (n : nat) (h : nat) (logits : state -> vector) : state -> vector :=
  fun s a => - (total_through n h (fun y => probability n logits y * sum_along (fun u b => log_softmax n (logits u) b) y) s a - ln (probability n logits s) * total_through n h (probability n logits) s a - sum n (fun b => total_through n h (fun y => probability n logits y * sum_along (fun u c => log_softmax n (logits u) c) y) s b - ln (probability n logits s) * total_through n h (probability n logits) s b) * softmax n (logits s) a).

Definition statement : Prop :=
  forall (n h : nat) (logits : state -> vector),
  (2 <= n)%nat ->
  (1 <= h)%nat ->
  ((forall s, state_of n h s -> forall a, (a < n)%nat -> direct_gradient n h logits s a = gradient_by_state n h logits s a) /\
  (forall s, state_of n h s -> forall a, (a < n)%nat -> direct_gradient n h logits s a = gradient_from_here_on n h logits s a)) /\
  (forall direction : state -> vector, (derivative (fun t => response_entropy n h (fun s a => logits s a + t * direction s a)) (0) (sum_states n h (fun s => sum n (fun a => gradient_by_state n h logits s a * direction s a))))).

Definition witness : Prop :=
  exists (n h : nat) (logits : state -> vector),
  (2 <= n)%nat /\
  (1 <= h)%nat.

Definition gradient_from_here_on_defined (n : nat) (h : nat) (logits : state -> vector) (s : state) (a : nat) : Prop :=
  0 < probability n logits s.

Definition defined : Prop :=
  forall (n h : nat) (logits : state -> vector),
  (2 <= n)%nat ->
  (1 <= h)%nat ->
  (forall s, state_of n h s -> forall a, (a < n)%nat -> gradient_from_here_on_defined n h logits s a).
