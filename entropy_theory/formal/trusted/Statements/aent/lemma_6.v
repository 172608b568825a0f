(* Generated from the formula of the claim aent.lemma-6 (AEnt, Lemma 6 (A.39)). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** r - lambda log pi on each (state, token), the return put on the last token. *)
Definition regularized_edge (n : nat) (h : nat) (prompts : nat) (logits : nat -> state -> nat -> R) (reward : nat -> state -> R) (coefficient : R) : nat -> state -> nat -> R :=
  fun q s a => edge_reward h (reward q) s a - coefficient * log_softmax n (logits q s) a.

(** dV_lambda/dlogits: d(s) pi(a|s) A_lambda(s, a) (Lemma 3). *)
Definition gradient (n : nat) (h : nat) (prompts : nat) (logits : nat -> state -> nat -> R) (reward : nat -> state -> R) (coefficient : R) : nat -> state -> nat -> R :=
  fun q s a => probability n (logits q) s * softmax n (logits q s) a * (action_value n h (logits q) (regularized_edge n h prompts logits reward coefficient q) s a - value_at n h (logits q) (regularized_edge n h prompts logits reward coefficient q) s).

(** ||grad V_lambda(D)||_2^2. *)
Definition square_of_soft_gradient (n : nat) (h : nat) (prompts : nat) (logits : nat -> state -> nat -> R) (reward : nat -> state -> R) (coefficient : R) : R :=
  sum prompts (fun q => sum_states n h (fun s => sum n (fun a => gradient n h prompts logits reward coefficient q s a / INR prompts * (gradient n h prompts logits reward coefficient q s a / INR prompts)))).

(** P(s). *)
Definition visits (n : nat) (h : nat) (prompts : nat) (logits : nat -> state -> nat -> R) : nat -> state -> R :=
  fun q s => probability n (logits q) s.

(** P*(s): the visits of the soft policy. *)
Definition soft_visits (n : nat) (h : nat) (prompts : nat) (logits : nat -> state -> nat -> R) (reward : nat -> state -> R) (coefficient : R) : nat -> state -> R :=
  fun q s => probability n (soft_policy n h coefficient (edge_reward h (reward q))) s.

(** min_s P(s)^2 min_a pi(a|s)^2 / P*(s). *)
Definition soft_constant (n : nat) (h : nat) (prompts : nat) (logits : nat -> state -> nat -> R) (reward : nat -> state -> R) (coefficient : R) : nat -> R :=
  fun q => - largest_states n h (fun s => - ((visits n h prompts logits q s * smallest n (softmax n (logits q s))) ^ 2 / soft_visits n h prompts logits reward coefficient q s)).

(** V_lambda at the root: the expected return plus lambda times the entropy of responses. *)
Definition regularized_value (n : nat) (h : nat) (prompts : nat) (logits : nat -> state -> nat -> R) (reward : nat -> state -> R) (coefficient : R) : nat -> R :=
  fun q => mean_responses n h (logits q) (reward q) + coefficient * response_entropy n h (logits q).

(** V_lambda^{pi*_lambda} - V_lambda^pi. *)
Definition soft_gap (n : nat) (h : nat) (prompts : nat) (logits : nat -> state -> nat -> R) (reward : nat -> state -> R) (coefficient : R) : nat -> R :=
  fun q => regularized_value n h prompts (fun r s a => soft_policy n h coefficient (edge_reward h (reward r)) s a) reward coefficient q - regularized_value n h prompts logits reward coefficient q.

Definition statement : Prop :=
  forall (n h prompts : nat) (logits : nat -> state -> nat -> R) (reward : nat -> state -> R) (coefficient : R),
  (2 <= n)%nat ->
  (1 <= h)%nat ->
  (1 <= prompts)%nat ->
  0 < coefficient ->
  (forall q, (q < prompts)%nat -> soft_constant n h prompts logits reward coefficient q / INR prompts ^ 2 * (2 * coefficient * soft_gap n h prompts logits reward coefficient q) <= square_of_soft_gradient n h prompts logits reward coefficient) /\
  (forall q, (q < prompts)%nat -> - largest_states n h (fun s => - visits n h prompts logits q s) * (- largest_states n h (fun s => - smallest n (softmax n (logits q s)))) ^ 2 * - largest_states n h (fun s => - (visits n h prompts logits q s / soft_visits n h prompts logits reward coefficient q s)) / sum_states n h (fun s => 1) / INR prompts ^ 2 * (2 * coefficient * soft_gap n h prompts logits reward coefficient q) <= square_of_soft_gradient n h prompts logits reward coefficient) /\
  (forall q, (q < prompts)%nat -> (- largest_responses n h (fun y => - probability n (logits q) y) / INR prompts) ^ 2 * (2 * coefficient * soft_gap n h prompts logits reward coefficient q) <= square_of_soft_gradient n h prompts logits reward coefficient).

Definition witness : Prop :=
  exists (n h prompts : nat) (logits : nat -> state -> nat -> R) (reward : nat -> state -> R) (coefficient : R),
  (2 <= n)%nat /\
  (1 <= h)%nat /\
  (1 <= prompts)%nat /\
  0 < coefficient.

Definition square_of_soft_gradient_defined (n : nat) (h : nat) (prompts : nat) (logits : nat -> state -> nat -> R) (reward : nat -> state -> R) (coefficient : R) : Prop :=
  INR prompts <> 0.

Definition soft_visits_defined (n : nat) (h : nat) (prompts : nat) (logits : nat -> state -> nat -> R) (reward : nat -> state -> R) (coefficient : R) (q : nat) (s : state) : Prop :=
  coefficient <> 0.

Definition soft_constant_defined (n : nat) (h : nat) (prompts : nat) (logits : nat -> state -> nat -> R) (reward : nat -> state -> R) (coefficient : R) (q : nat) : Prop :=
  (forall s, state_of n h s -> soft_visits_defined n h prompts logits reward coefficient q s) /\
  (forall s, state_of n h s -> soft_visits n h prompts logits reward coefficient q s <> 0).

Definition soft_gap_defined (n : nat) (h : nat) (prompts : nat) (logits : nat -> state -> nat -> R) (reward : nat -> state -> R) (coefficient : R) (q : nat) : Prop :=
  coefficient <> 0.

Definition defined : Prop :=
  forall (n h prompts : nat) (logits : nat -> state -> nat -> R) (reward : nat -> state -> R) (coefficient : R),
  (2 <= n)%nat ->
  (1 <= h)%nat ->
  (1 <= prompts)%nat ->
  0 < coefficient ->
  square_of_soft_gradient_defined n h prompts logits reward coefficient /\
  (forall q, (q < prompts)%nat -> soft_constant_defined n h prompts logits reward coefficient q) /\
  INR prompts ^ 2 <> 0 /\
  (forall q, (q < prompts)%nat -> soft_gap_defined n h prompts logits reward coefficient q) /\
  (forall q, (q < prompts)%nat -> forall s, state_of n h s -> soft_visits_defined n h prompts logits reward coefficient q s) /\
  (forall q, (q < prompts)%nat -> forall s, state_of n h s -> soft_visits n h prompts logits reward coefficient q s <> 0) /\
  sum_states n h (fun s => 1) <> 0 /\
  INR prompts <> 0.
