(** What theorems beside statements suppose can be met: sizes, places and states; see Witnesses.v for the rest. *)

From Coq Require Import Reals Lra Lia List Bool.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Witnesses.
Import ListNotations.
Open Scope R_scope.

Ltac met :=
  cbv zeta;
  lazymatch goal with
  | |- _ /\ _ => split; met
  | |- (_ < _)%nat => lia
  | |- (_ <= _)%nat => lia
  | |- state_of _ _ _ => split; [simpl; lia | repeat constructor; lia]
  | |- response_of _ _ _ => split; [reflexivity | repeat constructor; lia]
  | |- nonempty _ (complement _) => exists 0%nat; split; [lia|reflexivity]
  | |- nonempty _ _ => exists 1%nat; split; [lia|reflexivity]
  | |- exists _ : nat, _ => first [exists 0%nat; solve [met] | exists 1%nat; solve [met]]
  | |- exists _ : state, _ => first [exists []; solve [met] | exists [0%nat]; solve [met]]
  | |- _ => first [lra | solve [auto] | solve [witnessed]]
  end.
