(** What statements suppose can be met: a tactic that computes it for given numbers. *)

From Coq Require Import Reals Lra Lia List Bool.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics.
Import ListNotations.
Open Scope R_scope.

Lemma ln_2_below_1 : ln 2 < 1.
Proof. rewrite <- (ln_exp 1); apply ln_increasing; [lra|]; pose proof (exp_ineq1 1); lra. Qed.

(** The gradient of entropy without logarithms of probabilities. *)
Lemma entropy_gradient_eq n z a :
  (0 < n)%nat -> entropy_gradient n z a = - softmax n z a * centered n (softmax n z) z a.
Proof.
  intros some; unfold entropy_gradient; rewrite log_softmax_eq, entropy_eq by exact some.
  unfold centered; ring.
Qed.

(** The exponential of 0, of ln 2, and of twice and four times that. *)
Ltac exponential x :=
  lazymatch x with
  | 0 => rewrite exp_0
  | ln _ => rewrite exp_ln by lra
  | _ => first [ replace x with 0 by (lra || field)
               | replace x with (ln 2) by (lra || field)
               | replace x with (ln 2 + ln 2) by (lra || field); rewrite exp_plus
               | replace x with (ln 2 + ln 2 + (ln 2 + ln 2)) by (lra || field); rewrite exp_plus ]
  end.

(** Logits of two answers of which the second is twice or four times as likely, and of three that are weighted
    1 : 1 : 16. *)
Definition one_to_two : vector := fun a => match a with 0%nat => 0 | _ => ln 2 end.
Definition one_to_four : vector := fun a => match a with 0%nat => 0 | _ => 2 * ln 2 end.
Definition one_one_sixteen : vector := fun a => match a with 2%nat => 4 * ln 2 | _ => 0 end.
Definition zero_and_one : vector := fun a => match a with 0%nat => 0 | _ => 1 end.

(** Numbers are computed; only what the reals are made of is left as it stands. *)
Ltac numbers :=
  cbv -[Rplus Rmult Rminus Ropp Rinv Rdiv R0 R1 IZR exp ln sqrt Rabs Rmax Rmin Rle Rlt Rge Rgt not
        Rlt_dec Rle_dec Req_EM_T Int_part];
  unfold Rmax, Rmin, Rabs;
  repeat match goal with
  | |- context [if Rcase_abs ?x then _ else _] => destruct (Rcase_abs x)
  | |- context [Rlt_dec ?x ?y] => destruct (Rlt_dec x y)
  | |- context [Rle_dec ?x ?y] => destruct (Rle_dec x y)
  | |- context [Req_EM_T ?x ?y] => destruct (Req_EM_T x y)
  end;
  repeat match goal with
  | |- context [exp ?x] => exponential x
  | H : context [exp ?x] |- _ => revert H
  end;
  rewrite ?ln_1, ?Rabs_R0;
  repeat first [ progress replace (0 + 1 + 1) with 2 by lra | progress replace (0 + 1 + 2) with 3 by lra
               | progress replace (0 + 1 + (2 * 2)) with 5 by lra | progress replace (1 / 2) with (/ 2) by lra
               | rewrite ln_Rinv by lra ];
  intros; try reflexivity; pose proof ln_lt_2; pose proof ln_2_below_1;
  try lra; try (field_simplify; nra); try (exfalso; lra).

Ltac witnessed :=
  lazymatch goal with
  | |- _ /\ _ => split; witnessed
  | |- (_ <= _)%nat => lia
  | |- @eq nat _ _ => lia
  | |- nonempty _ _ => first [exists 1%nat; split; [lia|reflexivity] | exists 0%nat; split; [lia|reflexivity]]
  | |- exists y, response_of _ _ y /\ _ =>
      first [exists [1%nat]; repeat split; repeat constructor; cbn; (lia || discriminate)
            | exists [0%nat]; repeat split; repeat constructor; cbn; (lia || discriminate)]
  | |- exists a, (a < _)%nat /\ _ =>
      first [exists 0%nat; solve [split; [lia|witnessed]] | exists 1%nat; solve [split; [lia|witnessed]]
            | exists 2%nat; solve [split; [lia|witnessed]]]
  | |- ~ (forall a, (a < _)%nat -> _ = true) =>
      let all := fresh in intros all;
      first [specialize (all 0%nat ltac:(lia)); discriminate | specialize (all 1%nat ltac:(lia)); discriminate]
  | |- forall a, (a < _)%nat -> _ =>
      let a := fresh in let inside := fresh in intros a inside;
      do 3 (destruct a as [|a]; [cbv beta iota; solve [witnessed | exfalso; lia]|]); exfalso; lia
  | |- forall y, response_of _ _ y -> _ =>
      let y := fresh in let of := fresh in let a := fresh in
      intros y [of _]; destruct y as [|a [|]]; try discriminate; cbn; destruct a; witnessed
  | |- ~ (exists a, (a < _)%nat /\ _) =>
      let a := fresh in let inside := fresh in let H := fresh in intros (a & inside & H); revert H;
      do 3 (destruct a as [|a]; [cbv beta iota; solve [witnessed] | try (exfalso; lia)])
  | |- forall s, state_of _ _ s -> _ =>
      let s := fresh in let of := fresh in
      intros s [of _]; destruct s; [witnessed | exfalso; cbn in of; lia]
  | |- _ \/ _ => first [solve [left; witnessed] | right; witnessed]
  | |- _ => solve [reflexivity | numbers]
  end.
