(** Where what statements speak of is defined: a tactic for their [defined]. *)

From Coq Require Import Reals Lra Lia List Bool.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Masks Trees.
Open Scope R_scope.

Lemma nonzero_of_pos x : 0 < x -> x <> 0.
Proof. lra. Qed.

Lemma sum_if_pos n A f :
  nonempty n A -> (forall a, 0 < f a) -> 0 < sum n (fun a => if A a then f a else 0).
Proof. intros some positive; apply (total_on_pos n A f); auto. Qed.

Lemma quotient_pos x y : 0 < x -> 0 < y -> 0 < x / y.
Proof. intros; unfold Rdiv; apply Rmult_lt_0_compat; [assumption|apply Rinv_0_lt_compat; assumption]. Qed.

(** Weights of m tokens and of the other k - m, in either order. *)
Lemma mixture_pos m k E : 0 <= m -> m <= k -> 0 < k -> 0 < E -> 0 < m * E + (k - m).
Proof.
  intros [some|<-] most tokens weight; [|lra].
  pose proof (Rmult_lt_0_compat m E some weight); lra.
Qed.

Lemma some_others n A : ~ everything n A -> 0 < INR n - total_on n A (fun _ => 1).
Proof.
  intros some; rewrite <- (count_on_complement n A).
  pose proof (count_on_pos n _ (some_wrong n A some)); unfold count_on in *; lra.
Qed.

Lemma count_of_both n A B : total_on n (fun a => andb (A a) (B a)) (fun _ => 1) <= total_on n A (fun _ => 1).
Proof.
  apply sum_le; intros a _; unfold only; destruct (A a), (B a); simpl; lra.
Qed.

Lemma smallest_pos n f : (0 < n)%nat -> (forall a, 0 < f a) -> 0 < smallest n f.
Proof. intros some positive; destruct (smallest_attained n f some) as (a & _ & ->); apply positive. Qed.

Lemma largest_of_one_pos x : 0 < Rmax x 1.
Proof. pose proof (Rmax_r x 1); lra. Qed.

(** The likeliest of a set are a set with something in it. *)
Lemma some_likeliest_on n A z :
  nonempty n A -> nonempty n (fun a => andb (A a) (negb (less (z a) (largest_on n A z)))).
Proof.
  intros some; destruct (largest_on_attained n A z some) as (a & inside & chosen & same).
  exists a; split; [exact inside|]; rewrite chosen, same; unfold less.
  destruct (Rlt_dec (z a) (z a)); [lra|reflexivity].
Qed.

Lemma some_likeliest n z : (0 < n)%nat -> nonempty n (fun a => negb (less (z a) (largest n z))).
Proof. intros some; apply (some_likeliest_on n (fun _ => true) z), (all_nonempty n some). Qed.

(** A set of actions with something in it. *)
Ltac inhabited :=
  lazymatch goal with
  | H : nonempty ?n ?A |- nonempty ?n ?A => exact H
  | H : ~ (forall a, (a < ?n)%nat -> ?A a = true) |- nonempty ?n (fun a => negb (?A a)) => exact (some_wrong n A H)
  | |- nonempty _ (fun a => andb _ (negb (less _ (largest_on _ _ _)))) => apply some_likeliest_on; inhabited
  | |- nonempty _ (fun a => negb (less _ (largest _ _))) => apply some_likeliest; lia
  | inside : (?a < ?n)%nat |- nonempty ?n ?A =>
      exists a; split; [exact inside|]; cbv beta; first [assumption | apply negb_true_iff, not_true_is_false; assumption]
  end.

(** More that is above zero: see TreeDomains.v. *)
Ltac above_zero_in_trees := fail.

(** What is made of exponentials, probabilities and sizes is above zero. *)
Ltac above_zero :=
  cbv beta;
  first
    [ assumption
    | lazymatch goal with
      | |- 0 < exp _ => apply exp_pos
      | |- 0 < INR _ => apply lt_0_INR; lia
      | |- 0 < softmax _ _ _ => apply softmax_pos; lia
      | |- 0 < probability _ _ _ => apply probability_pos; lia
      | |- 0 < total_on _ _ _ => apply total_on_pos; [inhabited|intros; above_zero]
      | |- 0 < sum ?n (fun b => if negb (?A b) then @?f b else 0) =>
          apply (sum_if_pos n (fun b => negb (A b)) f); [inhabited|intros; above_zero]
      | |- 0 < sum ?n (fun b => if ?A b then @?f b else 0) => apply (sum_if_pos n A f); [inhabited|intros; above_zero]
      | |- 0 < sum _ _ => apply sum_pos; [lia|intros; above_zero]
      | |- 0 < _ * _ => apply Rmult_lt_0_compat; above_zero
      | |- 0 < _ / _ => apply quotient_pos; above_zero
      | |- 0 < _ ^ _ => apply pow_lt; above_zero
      | |- 0 < sqrt _ => apply sqrt_lt_R0; above_zero
      | |- 0 < INR ?n - _ => apply (some_others n); assumption
      | |- 0 < smallest _ _ => apply smallest_pos; [lia|intros; above_zero]
      | |- 0 < Rmax _ 1 => apply largest_of_one_pos
      | |- 0 < Rmin _ _ => apply Rmin_glb_lt; above_zero
      | |- 0 < (if ?b then _ else _) => destruct b; above_zero
      end
    | match goal with
      | H : forall k : nat, _ |- 0 < ?f ?k => let K := fresh in pose proof (H k) as K; try destruct K; lra
      end
    | above_zero_in_trees
    | lazymatch goal with |- 0 < ?x + ?y => apply Rplus_lt_0_compat; above_zero end
    | lra
    | lazymatch goal with |- 0 < ?x => let y := eval red in x in change (0 < y); above_zero end ].

(** Each condition by itself; definitions' conditions are written out. *)
Ltac domains :=
  intros; cbv beta;
  lazymatch goal with
  | |- _ /\ _ => split; domains
  | |- _ <> 0 => first [assumption | lra | apply nonzero_of_pos; above_zero | idtac]
  | |- 0 < _ => first [above_zero | idtac]
  | |- 0 <= _ => first [lra | apply pos_INR | apply Rlt_le; above_zero | idtac]
  | |- (_ < _)%nat => first [lia | apply INR_lt; simpl; lra | idtac]
  | |- _ => red; domains
  end.
