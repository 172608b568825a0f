(** What propositions about limits suppose can be met: witnesses with what they bind within. *)

From Coq Require Import Reals Lra Lia List.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Witnesses.
Open Scope R_scope.

(** Constant numbers, schedules and vectors: 1, 2, a half or 0. *)
Ltac limits_witnessed :=
  let constant c := solve [exists c; limits_witnessed] in
  lazymatch goal with
  | |- _ /\ _ => split; limits_witnessed
  | |- exists _ : R, _ => first [constant 1 | constant 2 | constant (1 / 2) | constant 0]
  | |- exists _ : nat -> R, _ => first [constant (fun _ : nat => 1) | constant (fun _ : nat => 0)]
  | |- exists _ : vector, _ => first [constant (fun _ : nat => 1) | constant (fun _ : nat => 0)]
  | |- exists _ : R -> nat -> R, _ => constant (fun (_ : R) (_ : nat) => 0)
  | |- exists _ : R -> state -> nat -> R, _ => constant (fun (_ : R) (_ : state) (_ : nat) => 0)
  | |- exists _ : state -> vector, _ => constant (fun (_ : state) (_ : nat) => 0)
  | |- forall a, (a < _)%nat -> derivative _ _ _ => intros; apply derivable_pt_lim_const
  | |- forall s, state_of _ _ s -> forall a, (a < _)%nat -> derivative _ _ _ =>
      intros; apply derivable_pt_lim_const
  | |- forall _ : nat, _ /\ _ => intros; limits_witnessed
  | |- forall _ : nat, _ <= _ => intros; lra
  | |- forall _ : nat, _ < _ => intros; lra
  | |- (_ <= _)%nat => lia
  | |- _ => solve [witnessed]
  end.
