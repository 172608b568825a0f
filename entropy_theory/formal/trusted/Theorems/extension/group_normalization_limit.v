From Coq Require Import Reals List.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** In a group of G with k right members, some but not all, a right one has the advantage sqrt((G - k)/k), and a
    wrong one - sqrt(k/(G - k)). *)
Definition advantages_by_count : Prop :=
  forall (correct : mask) (g : state) (b : nat),
  let G := INR (length g) in
  let k := total_over g (fun a => if correct a then 1 else 0) in
  0 < k -> k < G ->
  group_advantage 0 correct g b = if correct b then sqrt ((G - k) / k) else - sqrt (k / (G - k)).

(** So the only wrong one of a group has - sqrt(G - 1). *)
Definition the_only_wrong_one : Prop :=
  forall (correct : mask) (g : state) (b : nat),
  (2 <= length g)%nat -> correct b = false ->
  total_over g (fun a => if correct a then 1 else 0) = INR (length g) - 1 ->
  group_advantage 0 correct g b = - sqrt (INR (length g) - 1).
