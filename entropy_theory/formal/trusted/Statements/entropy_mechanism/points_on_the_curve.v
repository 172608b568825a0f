(* Generated from the formula of the claim entropy-mechanism.points-on-the-curve (Review of Entropy Mechanism, first major comment (Clip-Cov on or off the fitted curve)). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** dH of sparing the right answer that is likeliest among the right. *)
Definition of_likeliest_right (n : nat) (logits : vector) (correct : mask) : R :=
  total_on n (fun a => negb (correct a)) (softmax n logits) * largest_on n correct (softmax n logits) * (largest_on n correct logits - total_on n correct (fun a => softmax n logits a * logits a) / total_on n correct (softmax n logits)).

(** dH of sparing the wrong answer that is least likely among the wrong. *)
Definition of_rarest_wrong (n : nat) (logits : vector) (correct : mask) : R :=
  total_on n correct (softmax n logits) * smallest_on n (fun a => negb (correct a)) (softmax n logits) * (total_on n (fun a => negb (correct a)) (fun a => softmax n logits a * logits a) / total_on n (fun a => negb (correct a)) (softmax n logits) - smallest_on n (fun a => negb (correct a)) logits).

(** The reward, 0 or 1, minus its mean R: the natural gradient's step per unit learning rate. *)
Definition advantage (n : nat) (logits : vector) (correct : mask) : vector :=
  centered n (softmax n logits) (fun b => if correct b then 1 else 0).

(** Mean logit of the right answers at a right one, of the wrong answers at a wrong one. *)
Definition mean_of_kind (n : nat) (logits : vector) (correct : mask) : vector :=
  fun a => if correct a then total_on n correct (fun b => softmax n logits b * logits b) / total_on n correct (softmax n logits) else total_on n (fun b => negb (correct b)) (fun b => softmax n logits b * logits b) / total_on n (fun b => negb (correct b)) (softmax n logits).

(** pi_a A_a (log pi_a - mean of its kind): dH of sparing action a, for each a. *)
Definition off_the_curve (n : nat) (logits : vector) (correct : mask) : vector :=
  fun a => softmax n logits a * advantage n logits correct a * (logits a - mean_of_kind n logits correct a).

Definition repair : Prop :=
  forall (n : nat) (logits : vector) (correct : mask),
  (2 <= n)%nat ->
  nonempty n correct ->
  (~ (forall a, (a < n)%nat -> correct a = true)) ->
  (0 <= of_likeliest_right n logits correct /\
  0 <= of_rarest_wrong n logits correct) /\
  (forall size : R, (forall a, (a < n)%nat -> total_on n (fun b => correct b) (softmax n (fun c => logits c + size * (if Nat.eqb a c then 0 else advantage n logits correct c))) = total_on n (fun b => correct b) (softmax n (fun c => logits c + (if correct c then ln (total_on n (fun d => correct d) (softmax n (fun e => logits e + size * (if Nat.eqb a e then 0 else advantage n logits correct e))) / total_on n (fun d => negb (correct d)) (softmax n (fun e => logits e + size * (if Nat.eqb a e then 0 else advantage n logits correct e))) / (total_on n correct (softmax n logits) / total_on n (fun d => negb (correct d)) (softmax n logits))) else 0))))) /\
  (forall a, (a < n)%nat -> derivative (fun t => entropy n (fun b => logits b + t * (if Nat.eqb a b then 0 else advantage n logits correct b)) - entropy n (fun b => logits b + (if correct b then ln (total_on n (fun c => correct c) (softmax n (fun d => logits d + t * (if Nat.eqb a d then 0 else advantage n logits correct d))) / total_on n (fun c => negb (correct c)) (softmax n (fun d => logits d + t * (if Nat.eqb a d then 0 else advantage n logits correct d))) / (total_on n correct (softmax n logits) / total_on n (fun c => negb (correct c)) (softmax n logits))) else 0))) (0) (off_the_curve n logits correct a)) /\
  (forall a, (a < n)%nat -> (if andb (correct a) (negb (less (logits a) (largest_on n correct logits))) then off_the_curve n logits correct a else of_likeliest_right n logits correct) = of_likeliest_right n logits correct) /\
  (forall a, (a < n)%nat -> (if andb (negb (correct a)) (negb (less (smallest_on n (fun b => negb (correct b)) logits) (logits a))) then off_the_curve n logits correct a else of_rarest_wrong n logits correct) = of_rarest_wrong n logits correct) /\
  total_on n correct (off_the_curve n logits correct) = 0 /\
  total_on n (fun a => negb (correct a)) (off_the_curve n logits correct) = 0.

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (correct : mask),
  (2 <= n)%nat /\
  nonempty n correct /\
  (~ (forall a, (a < n)%nat -> correct a = true)).

Definition of_likeliest_right_defined (n : nat) (logits : vector) (correct : mask) : Prop :=
  total_on n correct (softmax n logits) <> 0.

Definition of_rarest_wrong_defined (n : nat) (logits : vector) (correct : mask) : Prop :=
  total_on n (fun a => negb (correct a)) (softmax n logits) <> 0.

Definition mean_of_kind_defined (n : nat) (logits : vector) (correct : mask) (a : nat) : Prop :=
  ((correct a = true) -> total_on n correct (softmax n logits) <> 0) /\
  (~ (correct a = true) -> total_on n (fun b => negb (correct b)) (softmax n logits) <> 0).

Definition off_the_curve_defined (n : nat) (logits : vector) (correct : mask) (a : nat) : Prop :=
  mean_of_kind_defined n logits correct a.

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (correct : mask),
  (2 <= n)%nat ->
  nonempty n correct ->
  (~ (forall a, (a < n)%nat -> correct a = true)) ->
  of_likeliest_right_defined n logits correct /\
  of_rarest_wrong_defined n logits correct /\
  (forall size : R, forall b, (b < n)%nat -> (correct b = true) -> forall c, (c < n)%nat -> forall d, (d < n)%nat -> (correct d = true) -> total_on n (fun e => negb (correct e)) (softmax n (fun f => logits f + size * (if Nat.eqb c f then 0 else advantage n logits correct f))) <> 0) /\
  (forall b, (b < n)%nat -> (correct b = true) -> forall d, (d < n)%nat -> (correct d = true) -> total_on n (fun e => negb (correct e)) (softmax n logits) <> 0) /\
  (forall b, (b < n)%nat -> (correct b = true) -> forall d, (d < n)%nat -> (correct d = true) -> total_on n correct (softmax n logits) / total_on n (fun e => negb (correct e)) (softmax n logits) <> 0) /\
  (forall size : R, forall b, (b < n)%nat -> (correct b = true) -> forall c, (c < n)%nat -> forall d, (d < n)%nat -> (correct d = true) -> 0 < total_on n (fun e => correct e) (softmax n (fun f => logits f + size * (if Nat.eqb c f then 0 else advantage n logits correct f))) / total_on n (fun e => negb (correct e)) (softmax n (fun f => logits f + size * (if Nat.eqb c f then 0 else advantage n logits correct f))) / (total_on n correct (softmax n logits) / total_on n (fun e => negb (correct e)) (softmax n logits))) /\
  (forall t : R, t = 0 -> forall b, (b < n)%nat -> forall c, (c < n)%nat -> (correct c = true) -> total_on n (fun d => negb (correct d)) (softmax n (fun e => logits e + t * (if Nat.eqb b e then 0 else advantage n logits correct e))) <> 0) /\
  (forall c, (c < n)%nat -> (correct c = true) -> total_on n (fun d => negb (correct d)) (softmax n logits) <> 0) /\
  (forall c, (c < n)%nat -> (correct c = true) -> total_on n correct (softmax n logits) / total_on n (fun d => negb (correct d)) (softmax n logits) <> 0) /\
  (forall t : R, t = 0 -> forall b, (b < n)%nat -> forall c, (c < n)%nat -> (correct c = true) -> 0 < total_on n (fun d => correct d) (softmax n (fun e => logits e + t * (if Nat.eqb b e then 0 else advantage n logits correct e))) / total_on n (fun d => negb (correct d)) (softmax n (fun e => logits e + t * (if Nat.eqb b e then 0 else advantage n logits correct e))) / (total_on n correct (softmax n logits) / total_on n (fun d => negb (correct d)) (softmax n logits))) /\
  (forall a, (a < n)%nat -> off_the_curve_defined n logits correct a) /\
  (forall a, (a < n)%nat -> ((correct a = true) /\ (~ (logits a < largest_on n correct logits))) -> off_the_curve_defined n logits correct a) /\
  (forall a, (a < n)%nat -> ~ ((correct a = true) /\ (~ (logits a < largest_on n correct logits))) -> of_likeliest_right_defined n logits correct) /\
  (forall a, (a < n)%nat -> ((~ (correct a = true)) /\ (~ (smallest_on n (fun b => negb (correct b)) logits < logits a))) -> off_the_curve_defined n logits correct a) /\
  (forall a, (a < n)%nat -> ~ ((~ (correct a = true)) /\ (~ (smallest_on n (fun b => negb (correct b)) logits < logits a))) -> of_rarest_wrong_defined n logits correct) /\
  (forall a, (a < n)%nat -> (correct a = true) -> off_the_curve_defined n logits correct a) /\
  (forall a, (a < n)%nat -> (~ (correct a = true)) -> off_the_curve_defined n logits correct a).
