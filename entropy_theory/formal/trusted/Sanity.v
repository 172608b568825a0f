(** What the definitions must satisfy if they mean what their names promise: every line is proved
    (proofs/Sanity.v). Derivatives and limits are compared with Coquelicot's. *)

From Coq Require Import Reals List Bool.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions Groups.
Open Scope R_scope.

(** * One state *)

Definition softmax_is_a_distribution : Prop :=
  forall (n : nat) (z : vector), (1 <= n)%nat ->
  sum n (softmax n z) = 1 /\ forall a, (a < n)%nat -> 0 < softmax n z a <= 1.

Definition entropy_is_between_0_and_log : Prop :=
  forall (n : nat) (z : vector), (1 <= n)%nat -> 0 <= entropy n z <= ln (INR n).

Definition entropy_is_largest_at_the_uniform_policy_only : Prop :=
  forall (n : nat) (z : vector), (1 <= n)%nat ->
  (entropy n z = ln (INR n) <-> forall a, (a < n)%nat -> softmax n z a = / INR n).

(** At temperature T odds are taken to the power 1/T, and T = 1 changes nothing. *)
Definition tempering_divides_log_odds : Prop :=
  forall (n : nat) (z : vector) (T : R) (a b : nat), (1 <= n)%nat -> T <> 0 ->
  log_softmax n (tempered T z) a - log_softmax n (tempered T z) b
  = (log_softmax n z a - log_softmax n z b) / T
  /\ softmax n (tempered 1 z) a = softmax n z a.

(** pi_k (r_k - E r) is the derivative of the expected reward in logit k. *)
Definition policy_gradient_is_the_gradient_of_the_objective : Prop :=
  forall (n : nat) (z reward : vector) (k : nat), (k < n)%nat ->
  is_derive (fun x => mean n (softmax n (set_entry z k x)) reward) (z k)
    (softmax n z k * centered n (softmax n z) reward k).

Definition entropy_gradient_is_the_gradient_of_entropy : Prop :=
  forall (n : nat) (z : vector) (k : nat), (k < n)%nat ->
  is_derive (fun x => entropy n (set_entry z k x)) (z k) (entropy_gradient n z k).

(** * Derivatives and limits *)

Definition derivative_is_is_derive : Prop :=
  forall (f : R -> R) (x l : R), derivative f x l <-> is_derive f x l.

Definition tends_to_is_is_lim_seq : Prop :=
  forall (u : nat -> R) (l : R), tends_to u l <-> is_lim_seq u (Finite l).

Definition limsup_at_most_is_LimSup_seq : Prop :=
  forall (u : nat -> R) (l : R), limsup_at_most u l <-> Rbar_le (LimSup_seq u) (Finite l).

(** * Token trees *)

Definition response_probabilities_sum_to_1 : Prop :=
  forall (n h : nat) (z : policy), (1 <= n)%nat -> sum_responses n h (probability n z) = 1.

(** The entropy of responses is the sum over leaves; it equals the entropies of states, weighted by visits. *)
Definition response_entropy_is_the_sum_over_leaves : Prop :=
  forall (n h : nat) (z : policy), (1 <= n)%nat ->
  response_entropy n h z = - sum_responses n h (fun y => probability n z y * ln (probability n z y))
  /\ response_entropy n h z = sum_states n h (fun s => probability n z s * entropy n (z s)).

(** d(s) pi(a|s) A(s, a) is the derivative of the expected reward in the logit of token a at state s. *)
Definition tree_gradient_is_the_gradient_of_the_objective : Prop :=
  forall (n h : nat) (z : policy) (reward : state -> R) (s : state) (a : nat),
  (1 <= n)%nat -> state_of n h s -> (a < n)%nat ->
  is_derive (fun x => mean_responses n h (set_logit z s a x) reward) (z s a) (gradient_of_value n h z reward s a).

(** * Groups of independent responses *)

Definition members_of_a_group_are_drawn_from_the_policy : Prop :=
  forall (n G : nat) (z f : vector), (1 <= n)%nat ->
  sum_responses n G (probability n (fun _ => z)) = 1
  /\ mean_responses n G (fun _ => z) (fun g => total_over g f) = INR G * mean n (softmax n z) f.

Definition members_of_a_group_are_independent : Prop :=
  forall (n G : nat) (z f : vector) (others : state -> R), (1 <= n)%nat ->
  mean_responses n (S G) (fun _ => z) (fun g => f (hd O g) * others (tl g))
  = mean n (softmax n z) f * mean_responses n G (fun _ => z) others.

(** (1/G) sum_i A_i (delta_{a_i} - pi), multiplied with the direction entry by entry. *)
Definition estimate_along_is_an_inner_product : Prop :=
  forall (n G : nat) (z advantage direction : vector) (g : state), response_of n G g ->
  estimate_along n z advantage direction g
  = sum n (fun a => direction a * (/ INR G * total_over g (fun b =>
      advantage b * ((if Nat.eqb a b then 1 else 0) - softmax n z a)))).

(** Advantages less the mean sum to zero; less the mean of the others they are G/(G - 1) times those. *)
Definition baselines_are_means : Prop :=
  forall (reward : vector) (g : state), (2 <= length g)%nat ->
  total_over g (with_group_mean reward g) = 0
  /\ forall b, (INR (length g) - 1) * with_mean_of_others reward g b = INR (length g) * with_group_mean reward g b.
