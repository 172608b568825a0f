(** What the statements speak of. A reader who trusts the proof kernel and the axioms of the classical
    real numbers has to read this file and the statement, and nothing else.

    The names are those of [entropy_theory/verification/arithmetic.py]. Entropies are in nats. *)

From Coq Require Import Reals List Bool.
Import ListNotations.
Open Scope R_scope.

(** * One state, n actions

    A vector has a number for each action 0, 1, ..., n - 1; what it says of other numbers never matters. *)

Definition vector := nat -> R.
Definition mask := nat -> bool.

Fixpoint sum (n : nat) (f : vector) : R :=
  match n with
  | O => 0
  | S k => sum k f + f k
  end.

(** The values on a set of actions, and zero elsewhere. *)
Definition only (A : mask) (f : vector) : vector := fun a => if A a then f a else 0.
Definition total_on (n : nat) (A : mask) (f : vector) : R := sum n (only A f).
Definition count_on (n : nat) (A : mask) : R := total_on n A (fun _ => 1).
Definition complement (A : mask) : mask := fun a => negb (A a).
Definition nonempty (n : nat) (A : mask) : Prop := exists a, (a < n)%nat /\ A a = true.
Definition everything (n : nat) (A : mask) : Prop := forall a, (a < n)%nat -> A a = true.

(** The largest value on a set of actions (0 if the set is empty). *)
Fixpoint some_on (n : nat) (A : mask) : bool :=
  match n with
  | O => false
  | S k => some_on k A || A k
  end.
Fixpoint largest_on (n : nat) (A : mask) (f : vector) : R :=
  match n with
  | O => 0
  | S k =>
      if A k then (if some_on k A then Rmax (largest_on k A f) (f k) else f k)
      else largest_on k A f
  end.
Definition smallest_on (n : nat) (A : mask) (f : vector) : R := - largest_on n A (fun a => - f a).
Definition largest (n : nat) (f : vector) : R := largest_on n (fun _ => true) f.
Definition smallest (n : nat) (f : vector) : R := smallest_on n (fun _ => true) f.

(** Expectation, deviation from it, and covariance under probabilities p. *)
Definition mean (n : nat) (p f : vector) : R := sum n (fun a => p a * f a).
Definition centered (n : nat) (p f : vector) : vector := fun a => f a - mean n p f.
Definition covariance (n : nat) (p f g : vector) : R :=
  mean n p (fun a => centered n p f a * centered n p g a).

(** The Euclidean norm, and a vector with one entry replaced: what a partial derivative is taken in. *)
Definition euclidean (n : nat) (x : vector) : R := sqrt (sum n (fun a => x a * x a)).
Definition set_entry (x : vector) (k : nat) (value : R) : vector :=
  fun a => if Nat.eqb a k then value else x a.

Definition softmax (n : nat) (z : vector) : vector := fun a => exp (z a) / sum n (fun b => exp (z b)).
Definition log_softmax (n : nat) (z : vector) : vector := fun a => ln (softmax n z a).
Definition entropy (n : nat) (z : vector) : R := - sum n (fun a => softmax n z a * ln (softmax n z a)).
(** The derivative of entropy with respect to each logit. *)
Definition entropy_gradient (n : nat) (z : vector) : vector :=
  fun a => - softmax n z a * (log_softmax n z a + entropy n z).
(** Logits after a step, and what the step does to entropy. *)
Definition moved_by (z d : vector) : vector := fun a => z a + d a.
Definition entropy_change (n : nat) (z d : vector) : R := entropy n (moved_by z d) - entropy n z.
(** Logits at temperature T. *)
Definition tempered (T : R) (z : vector) : vector := fun a => z a / T.

Definition binary_entropy (p : R) : R := - p * ln p - (1 - p) * ln (1 - p).

(** Booleans of comparisons, for values that depend on one. *)
Definition less (x y : R) : bool := if Rlt_dec x y then true else false.
Definition less_equal (x y : R) : bool := if Rle_dec x y then true else false.
Definition equal (x y : R) : bool := if Req_EM_T x y then true else false.

(** The sign of a number. *)
Definition sign_of (x : R) : R := if less 0 x then 1 else if less x 0 then -1 else 0.
(** The first action with the largest logit. *)
Fixpoint likeliest (n : nat) (z : vector) : nat :=
  match n with
  | O => O
  | S k => if less (z (likeliest k z)) (z k) then k else likeliest k z
  end.
(** The likeliest tokens, without a fraction of them rounded down; of equally likely ones the first are kept. *)
Definition kept_tokens (n : nat) (z : vector) (removed : R) : mask := fun a =>
  less (count_on n (fun b => orb (less (z a) (z b)) (andb (equal (z b) (z a)) (Nat.ltb b a))))
       (INR n - IZR (Int_part (removed * INR n))).

(** * Derivatives and limits *)

(** The function f has the derivative l at x. *)
Definition derivative (f : R -> R) (x l : R) : Prop := derivable_pt_lim f x l.
(** limsup u <= l. *)
Definition limsup_at_most (u : nat -> R) (l : R) : Prop :=
  forall e, 0 < e -> exists N, forall k, (N <= k)%nat -> u k < l + e.
Definition tends_to (u : nat -> R) (l : R) : Prop :=
  forall e, 0 < e -> exists N, forall k, (N <= k)%nat -> Rabs (u k - l) < e.

(** Where a run is after k steps; step k leads from a point to the next. *)
Fixpoint run {X : Type} (step : nat -> X -> X) (start : X) (k : nat) : X :=
  match k with
  | O => start
  | S j => step j (run step start j)
  end.

(** * Token trees: responses of h tokens out of n

    A state is the list of the tokens so far, in order; a policy has logits at each state. *)

Definition state := list nat.
Definition policy := state -> vector.

(** What a function of states becomes when the first token, a, is already there. *)
Definition after {X : Type} (a : nat) (f : state -> X) : state -> X := fun s => f (a :: s).

Fixpoint sum_responses (n h : nat) (f : state -> R) : R :=
  match h with
  | O => f []
  | S k => sum n (fun a => sum_responses n k (after a f))
  end.
(** All states at which a token is chosen, level by level. *)
Definition sum_states (n h : nat) (f : state -> R) : R := sum h (fun t => sum_responses n t f).

(** The probability of generating the tokens s; of a state, that of visiting it. *)
Fixpoint probability (n : nat) (z : policy) (s : state) : R :=
  match s with
  | [] => 1
  | a :: rest => softmax n (z []) a * probability n (after a z) rest
  end.
(** Sum along a response of a number for each state and token. *)
Fixpoint sum_along (f : state -> vector) (y : state) : R :=
  match y with
  | [] => 0
  | a :: rest => f [] a + sum_along (after a f) rest
  end.
Definition mean_responses (n h : nat) (z : policy) (f : state -> R) : R :=
  sum_responses n h (fun y => probability n z y * f y).
Definition covariance_responses (n h : nat) (z : policy) (f g : state -> R) : R :=
  mean_responses n h z (fun y =>
    (f y - mean_responses n h z f) * (g y - mean_responses n h z g)).
Definition response_entropy (n h : nat) (z : policy) : R :=
  - sum_responses n h (fun y => probability n z y * ln (probability n z y)).

(** Expected sum of an edge's numbers from the root on, with h tokens to go. *)
Fixpoint value (n h : nat) (z : policy) (edge : state -> vector) : R :=
  match h with
  | O => 0
  | S k => mean n (softmax n (z [])) (fun a => edge [] a + value n k (after a z) (after a edge))
  end.
(** The same from state s on, and after token a there. *)
Fixpoint value_at (n h : nat) (z : policy) (edge : state -> vector) (s : state) : R :=
  match s with
  | [] => value n h z edge
  | a :: rest => value_at n (pred h) (after a z) (after a edge) rest
  end.

(** Groups of independent responses of one state, G in number: a sum over the members of a group, the mean and the
    variance of their rewards (1 if correct, else 0), and the advantages (reward - mean)/deviation, which are 0 where
    all rewards are equal. The squared deviations are divided by G - ddof. *)
Fixpoint total_over (g : state) (f : vector) : R :=
  match g with
  | [] => 0
  | b :: rest => f b + total_over rest f
  end.
Definition mean_of_group (correct : mask) (g : state) : R :=
  total_over g (fun b => if correct b then 1 else 0) / INR (length g).
Definition group_variance (ddof : nat) (correct : mask) (g : state) : R :=
  total_over g (fun b => ((if correct b then 1 else 0) - mean_of_group correct g)
                         * ((if correct b then 1 else 0) - mean_of_group correct g))
  / (INR (length g) - INR ddof).
Definition group_advantage (ddof : nat) (correct : mask) (g : state) : vector := fun b =>
  if less 0 (group_variance ddof correct g)
  then ((if correct b then 1 else 0) - mean_of_group correct g) / sqrt (group_variance ddof correct g)
  else 0.
(** The mean over all groups of (1/G) sum_i A_i (delta_{a_i} - pi), at action a. *)
Definition expected_group_step (n G ddof : nat) (z : vector) (correct : mask) : vector := fun a =>
  sum_responses n G (fun g =>
    probability n (fun _ => z) g
    * (/ INR G * total_over g (fun b =>
         group_advantage ddof correct g b * (only (Nat.eqb a) (fun _ => 1) b - softmax n z a)))).
(** The mean deviation of a group's rewards over p (1 - p), from p and 1 - p; divided term by term. *)
Definition group_gain (G ddof : nat) (right wrong : R) : R :=
  sum (G - 1) (fun j =>
    Binomial.C G (S j) * (sqrt (INR (S j) * (INR G - INR (S j))) / INR G)
    * (right ^ j * wrong ^ (G - 1 - S j)))
  * sqrt ((INR G - INR ddof) / INR G).

(** A reward of responses of h tokens, put on the last token. *)
Definition edge_reward (h : nat) (reward : state -> R) : state -> vector :=
  fun s a => if Nat.eqb (S (length s)) h then reward (s ++ [a]) else 0.
(** log pi, and the expected sum of -log pi still to come after token a at s. *)
Definition log_policy (n : nat) (z : policy) : state -> vector := fun s => log_softmax n (z s).
Definition entropy_to_come (n h : nat) (z : policy) : state -> vector :=
  fun s a => value_at n h z (fun u b => - log_policy n z u b) (s ++ [a]).
(** Q(s, a), and A(s, a) = Q(s, a) - V(s). *)
Definition action_value (n h : nat) (z : policy) (edge : state -> vector) : state -> vector :=
  fun s a => edge s a + value_at n h z edge (s ++ [a]).
Definition advantage_at (n h : nat) (z : policy) (edge : state -> vector) : state -> vector :=
  fun s a => action_value n h z edge s a - value_at n h z edge s.
(** Sum over the responses that begin with s of the probability times a function of the response. *)
Definition sum_through (n h : nat) (z : policy) (f : state -> R) (s : state) : R :=
  sum_responses n (h - length s) (fun y => probability n z (s ++ y) * f (s ++ y)).
(** What the numbers of each state and token add to along responses, each about its state's mean. *)
Definition centered_policy (n : nat) (z : policy) (x : state -> vector) : state -> vector :=
  fun s => centered n (softmax n (z s)) (x s).
(** A state at which responses of h tokens out of n choose a token. *)
Definition state_of (n h : nat) (s : state) : Prop :=
  (length s < h)%nat /\ Forall (fun a => (a < n)%nat) s.
(** A response of h tokens out of n. *)
Definition response_of (n h : nat) (y : state) : Prop :=
  length y = h /\ Forall (fun a => (a < n)%nat) y.
(** One logit replaced: what a partial derivative is taken in. *)
Definition set_logit (z : policy) (s : state) (a : nat) (x : R) : policy :=
  fun u b => if list_eq_dec Nat.eq_dec u s then (if Nat.eqb b a then x else z u b) else z u b.
(** REINFORCE written out over responses: sum_y pi(y) w(y) sum_t 1[s_t = s] (1[a_t = a] - pi(a|s)). *)
Definition gradient_over_responses (n h : nat) (z : policy) (weight : state -> R) : state -> vector :=
  fun s a => sum_through n h z weight (s ++ [a])
             - sum n (fun b => sum_through n h z weight (s ++ [b])) * softmax n (z s) a.
(** sum_t u(s_t, a_t) sum_{t' >= t} f(s_t', a_t') along a response. *)
Fixpoint sum_from_here_on (u f : state -> vector) (y : state) : R :=
  match y with
  | [] => 0
  | a :: rest => u [] a * sum_along f y + sum_from_here_on (after a u) (after a f) rest
  end.
(** Expected reward plus lambda times entropy, and the edge it is the value of. *)
Definition value_with_entropy (n h : nat) (z : policy) (reward : state -> R) (lambda : R) : R :=
  mean_responses n h z reward + lambda * response_entropy n h z.
Definition edge_with_entropy (n h : nat) (z : policy) (reward : state -> R) (lambda : R)
    : state -> vector :=
  fun s a => edge_reward h reward s a - lambda * log_policy n z s a.
(** Logits moved along a direction. *)
Definition moved (z : policy) (t : R) (x : state -> vector) : policy := fun s a => z s a + t * x s a.
(** The logit gradient of the expected reward: d(s) pi(a|s) A(s, a). *)
Definition gradient_of_value (n h : nat) (z : policy) (reward : state -> R) : state -> vector :=
  fun s a => probability n z s * (softmax n (z s) a * advantage_at n h z (edge_reward h reward) s a).
(** Sum of a function of responses over those that take token a at s. *)
Definition total_through (n h : nat) (f : state -> R) : state -> vector :=
  fun s a => sum_responses n (h - S (length s)) (fun y => f (s ++ a :: y)).
(** The largest value over the states at which a token is chosen, and over the responses. *)
Fixpoint largest_states (n h : nat) (f : state -> R) : R :=
  match h with
  | O => 0
  | S O => f []
  | S k => Rmax (f []) (largest n (fun a => largest_states n k (after a f)))
  end.
Fixpoint largest_responses (n h : nat) (f : state -> R) : R :=
  match h with
  | O => f []
  | S k => largest n (fun a => largest_responses n k (after a f))
  end.

(** * Entropy-regularized optima *)

(** The largest expected sum of an edge's numbers plus lambda times entropy, with h tokens to go. *)
Fixpoint soft_value (n h : nat) (lambda : R) (edge : state -> vector) : R :=
  match h with
  | O => 0
  | S k =>
      lambda * ln (sum n (fun a => exp ((edge [] a + soft_value n k lambda (after a edge)) / lambda)))
  end.
(** The same from state s on. *)
Fixpoint soft_value_at (n h : nat) (lambda : R) (edge : state -> vector) (s : state) : R :=
  match s with
  | [] => soft_value n h lambda edge
  | a :: rest => soft_value_at n (pred h) lambda (after a edge) rest
  end.
(** The policy that attains it: softmax(Q/lambda) at every state. *)
Definition soft_policy (n h : nat) (lambda : R) (edge : state -> vector) : policy :=
  fun s a => (edge s a + soft_value_at n h lambda edge (s ++ [a])) / lambda.

(** Trees of any shape: token a at s may be the last one of a response ([ends s a]). No token of s was the last
    one, so that a token is chosen at s. *)
Fixpoint running (ends : state -> mask) (s : state) : bool :=
  match s with
  | [] => true
  | a :: rest => negb (ends [] a) && running (after a ends) rest
  end.
