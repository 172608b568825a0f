From Coq Require Import Reals.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From Trusted.Statements.aent Require Import c_stays_away_from_zero.
Open Scope R_scope.

Definition fails : Prop :=
  ~ (forall (n : nat) (logits reward : vector) (eta : R),
    (2 <= n)%nat -> 0 < eta -> (forall a, (a < n)%nat -> 0 <= reward a <= 1) ->
    likeliest_right n logits reward
    <= likeliest_right n (fun a => logits a + gradient_step n logits reward eta a) reward).
