(* Generated from the formula of the claim aent.lemma-3 (AEnt, Lemma 3 (A.10, A.16)). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** sum_y pi(y) weight(y) d log pi(y)/dlogits: REINFORCE, written out over the responses. *)
Definition response_gradient (n : nat) (h : nat) (prompts : nat) (logits : nat -> state -> nat -> R) (weight : nat -> state -> R) : nat -> state -> nat -> R :=
  fun q s a => total_through n h (fun y => probability n (logits q) y * weight q y) s a - sum n (total_through n h (fun y => probability n (logits q) y * weight q y) s) * softmax n (logits q s) a.

(** r - lambda log pi on each (state, token), the return put on the last token. *)
Definition regularized_edge (n : nat) (h : nat) (prompts : nat) (logits : nat -> state -> nat -> R) (reward : nat -> state -> R) (coefficient : R) : nat -> state -> nat -> R :=
  fun q s a => edge_reward h (reward q) s a - coefficient * log_softmax n (logits q s) a.

(** dV_lambda/dlogits: d(s) pi(a|s) A_lambda(s, a) (Lemma 3). *)
Definition gradient (n : nat) (h : nat) (prompts : nat) (logits : nat -> state -> nat -> R) (reward : nat -> state -> R) (coefficient : R) : nat -> state -> nat -> R :=
  fun q s a => probability n (logits q) s * softmax n (logits q s) a * (action_value n h (logits q) (regularized_edge n h prompts logits reward coefficient q) s a - value_at n h (logits q) (regularized_edge n h prompts logits reward coefficient q) s).

(** V_lambda at the root: the expected return plus lambda times the entropy of responses. *)
Definition regularized_value (n : nat) (h : nat) (prompts : nat) (logits : nat -> state -> nat -> R) (reward : nat -> state -> R) (coefficient : R) : nat -> R :=
  fun q => mean_responses n h (logits q) (reward q) + coefficient * response_entropy n h (logits q).

Definition statement : Prop :=
  forall (n h prompts : nat) (logits : nat -> state -> nat -> R) (reward : nat -> state -> R) (coefficient : R),
  (2 <= n)%nat ->
  (1 <= h)%nat ->
  (1 <= prompts)%nat ->
  (forall q, (q < prompts)%nat -> forall s, state_of n h s -> forall a, (a < n)%nat -> response_gradient n h prompts logits (fun r y => reward r y - coefficient * (sum_along (fun u b => log_softmax n (logits r u) b) y + 1)) q s a / INR prompts = gradient n h prompts logits reward coefficient q s a / INR prompts) /\
  (forall direction : nat -> state -> nat -> R, (derivative (fun t => sum prompts (regularized_value n h prompts (fun r s a => logits r s a + t * direction r s a) reward coefficient) / INR prompts) (0) (sum prompts (fun q => sum_states n h (fun s => sum n (fun a => gradient n h prompts logits reward coefficient q s a / INR prompts * direction q s a)))))).

Definition witness : Prop :=
  exists (n h prompts : nat) (logits : nat -> state -> nat -> R) (reward : nat -> state -> R) (coefficient : R),
  (2 <= n)%nat /\
  (1 <= h)%nat /\
  (1 <= prompts)%nat.

Definition defined : Prop :=
  forall (n h prompts : nat) (logits : nat -> state -> nat -> R) (reward : nat -> state -> R) (coefficient : R),
  (2 <= n)%nat ->
  (1 <= h)%nat ->
  (1 <= prompts)%nat ->
  INR prompts <> 0.
