(** Estimates of the policy gradient from a group of G independent responses of one state, beside Definitions.v:
    statements about sampled groups import it. A group is the list of its responses. *)

From Coq Require Import Reals List.
From Trusted Require Import Definitions.
Import ListNotations.
Open Scope R_scope.

(** The advantages of a group's members, from a reward for each response: the reward itself; less the mean of the
    group; less the mean of the other members (leave-one-out). *)
Definition without_baseline (reward : vector) (g : state) : vector := reward.
Definition with_group_mean (reward : vector) (g : state) : vector :=
  fun b => reward b - total_over g reward / INR (length g).
Definition with_mean_of_others (reward : vector) (g : state) : vector :=
  fun b => reward b - (total_over g reward - reward b) / (INR (length g) - 1).

(** The inner product of (1/G) sum_i A_i (delta_{a_i} - pi) with a direction. *)
Definition estimate_along (n : nat) (z advantage direction : vector) (g : state) : R :=
  / INR (length g) * total_over g (fun b => advantage b * centered n (softmax n z) direction b).

(** Its mean and its variance, over all groups. *)
Definition mean_along (n G : nat) (advantages : vector -> state -> vector) (z reward direction : vector) : R :=
  mean_responses n G (fun _ => z) (fun g => estimate_along n z (advantages reward g) direction g).
Definition variance_along (n G : nat) (advantages : vector -> state -> vector) (z reward direction : vector) : R :=
  covariance_responses n G (fun _ => z)
    (fun g => estimate_along n z (advantages reward g) direction g)
    (fun g => estimate_along n z (advantages reward g) direction g).

(** A group whose rewards are coins, drawn apart from the responses: 1 with probability [chance], else 0. The mean over
    G coins, and the sum over members of the advantage of a coin times a number of the response. *)
Fixpoint mean_of_coins (G : nat) (chance : R) (f : state -> R) : R :=
  match G with
  | O => f []
  | S k => chance * mean_of_coins k chance (fun coins => f (1%nat :: coins))
           + (1 - chance) * mean_of_coins k chance (fun coins => f (0%nat :: coins))
  end.
Fixpoint total_over_pairs (coins g : state) (advantage x : vector) : R :=
  match coins with
  | [] => 0
  | c :: others =>
      match g with
      | [] => 0
      | b :: rest => advantage c * x b + total_over_pairs others rest advantage x
      end
  end.

(** The mean square along a direction of (1/G) sum_i A_i (delta_{a_i} - pi), A_i standardized. *)
Definition square_along_with_coins (n G ddof : nat) (z direction : vector) (chance : R) : R :=
  mean_of_coins G chance (fun coins => mean_responses n G (fun _ => z) (fun g =>
    (/ INR G * total_over_pairs coins g (group_advantage ddof (Nat.eqb 1) coins) (centered n (softmax n z) direction))
    ^ 2)).
