(** Refutations: a statement taken at an instance, where intervals decide its premises and its conclusion.
    What computing cannot decide makes the tactics fail. *)

From Coq Require Import Reals List Bool Lra Lia.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Enclosures.
Import ListNotations.
Open Scope R_scope.

(** * Instances: vectors by their entries, sets, policies by weights, functions on token trees *)

Definition entries (values : list R) : vector := fun a => nth a values 0.
Definition marks (values : list bool) : mask := fun a => nth a values false.
Definition log_weights (weights : list R) : vector := fun a => ln (nth a weights 1).
(** States level by level; responses in the order of their tokens. *)
Definition place_of_state (n : nat) (s : state) : nat := fold_left (fun k a => n * k + a + 1)%nat s O.
Definition place_of_response (n : nat) (y : state) : nat := fold_left (fun k a => n * k + a)%nat y O.
Definition at_states (n : nat) (rows : list vector) : state -> vector :=
  fun s => nth (place_of_state n s) rows (fun _ => 0).
Definition at_responses (n : nat) (values : list R) : state -> R := fun y => nth (place_of_response n y) values 0.
Definition in_responses (n : nat) (values : list bool) : state -> bool :=
  fun y => nth (place_of_response n y) values false.

Fixpoint responses (n h : nat) : list state :=
  match h with
  | O => [[]]
  | S k => flat_map (fun a => map (cons a) (responses n k)) (seq 0 n)
  end.
Definition states (n h : nat) : list state := flat_map (responses n) (seq 0 h).

Lemma in_all_responses n : forall y, Forall (fun a => (a < n)%nat) y -> In y (responses n (length y)).
Proof.
  induction y as [|a rest IH]; intros inside; simpl; [left; reflexivity|].
  inversion_clear inside; apply in_flat_map; exists a; split; [apply in_seq; lia|].
  apply in_map, IH; assumption.
Qed.

Lemma every_response n h (P : state -> Prop) : Forall P (responses n h) -> forall y, response_of n h y -> P y.
Proof. intros all y [<- inside]; rewrite Forall_forall in all; apply all, in_all_responses, inside. Qed.

Lemma every_state n h (P : state -> Prop) : Forall P (states n h) -> forall s, state_of n h s -> P s.
Proof.
  intros all s [short inside]; rewrite Forall_forall in all; apply all.
  apply in_flat_map; exists (length s); split; [apply in_seq; lia|apply in_all_responses, inside].
Qed.

Lemma every_action n (P : nat -> Prop) : Forall P (seq 0 n) -> forall a, (a < n)%nat -> P a.
Proof. intros all a inside; rewrite Forall_forall in all; apply all, in_seq; lia. Qed.

(** * The tactics *)

(** Natural numbers and lists of them, computed. *)
Ltac computed t :=
  match t with
  | context C [(?a - ?b)%nat] =>
      let v := eval vm_compute in (a - b)%nat in let u := context C [v] in computed u
  | context C [length ?l] => let v := eval vm_compute in (length l) in let u := context C [v] in computed u
  | context C [@app nat ?a ?b] => let v := eval vm_compute in (@app nat a b) in let u := context C [v] in computed u
  | context C [Nat.pred ?a] => let v := eval vm_compute in (Nat.pred a) in let u := context C [v] in computed u
  | _ => t
  end.

Ltac reduced t := let u := eval red in t in let u := eval cbv beta in u in computed u.

(** The proof that a truth value is what it is, once it is known. *)
Ltac fact b :=
  lazymatch b with
  | true => constr:(@eq_refl bool true)
  | false => constr:(@eq_refl bool false)
  | _ => match goal with H : b = true |- _ => H | H : b = false |- _ => H end
  end.
Ltac truth b := let H := fact b in lazymatch type of H with _ = ?v => v end.
Ltac note_truth b v proof := let H := fresh "truth" in assert (H : b = v) by exact proof.

(** An enclosure of an expression whose parts have theirs. *)
Ltac enclose :=
  lazymatch goal with
  | H : encloses _ (IZR (Int_part ?x)) |- encloses _ (IZR (Int_part ?x)) => exact H
  | |- encloses _ (IZR _) => simple apply of_integer
  | |- encloses _ (INR _) => simple apply of_natural
  | |- encloses _ (_ + _) => simple eapply of_sum; enclose
  | |- encloses _ (_ - _) => simple eapply of_difference; enclose
  | |- encloses _ (_ * _) => simple eapply of_product; enclose
  | |- encloses _ (_ / _) => simple eapply of_quotient; enclose
  | |- encloses _ (- _) => simple eapply of_negative; enclose
  | |- encloses _ (/ _) => simple eapply of_inverse; enclose
  | |- encloses _ (Rabs _) => simple eapply of_absolute; enclose
  | |- encloses _ (exp _) => simple eapply of_exp; enclose
  | |- encloses _ (ln _) => simple eapply of_ln; enclose
  | |- encloses _ (sqrt _) => simple eapply of_sqrt; enclose
  | |- encloses _ (_ ^ _) => simple eapply of_power; enclose
  | |- encloses _ (Rmax _ _) => simple eapply of_maximum; enclose
  | |- encloses _ (Rmin _ _) => simple eapply of_minimum; enclose
  | |- encloses _ (if ?b then _ else _) =>
      let H := fact b in
      lazymatch type of H with
      | _ = true => simple eapply (of_true _ _ _ _ H)
      | _ = false => simple eapply (of_false _ _ _ _ H)
      end; enclose
  | H : encloses _ ?x |- encloses _ ?x => exact H
  end.

(** Notes an enclosure of [x], which is [y] by computation, as a hypothesis. *)
Ltac note x y :=
  let i := fresh "i" in
  let H := fresh "enclosed" in
  let K := fresh "K" in
  evar (i : interval);
  assert (K : encloses i y) by (subst i; enclose);
  let e := eval cbv delta [i] in i in
  let v := eval vm_compute in e in
  assert (H : encloses v x) by (refine (known e v x _ K); vm_cast_no_check (@eq_refl interval v));
  clear K; clear i.

(** Notes an enclosure of the integer part of what has one. *)
Ltac note_integer_part x :=
  let i := fresh "i" in
  let H := fresh "enclosed" in
  let K := fresh "K" in
  evar (i : interval);
  assert (K : encloses i x) by (subst i; enclose);
  let e := eval cbv delta [i] in i in
  let k := eval vm_compute in (integer_below e) in
  assert (H : encloses (Intervals.fromZ bits k) (IZR (Int_part x)))
    by (rewrite (integer_part_is e x k K) by (vm_compute; reflexivity); apply of_integer);
  clear K; clear i.

(** Whether an expression is arithmetic of numbers alone. *)
Ltac is_arithmetic x :=
  lazymatch x with
  | IZR (Int_part _) => fail
  | IZR _ => idtac
  | ?a + ?b => is_arithmetic a; is_arithmetic b
  | ?a - ?b => is_arithmetic a; is_arithmetic b
  | ?a * ?b => is_arithmetic a; is_arithmetic b
  | ?a / ?b => is_arithmetic a; is_arithmetic b
  | - ?a => is_arithmetic a
  end.

Ltac need x :=
  lazymatch x with
  | IZR (Int_part ?a) =>
      lazymatch goal with
      | H : encloses _ x |- _ => idtac
      | _ => need a; note_integer_part a
      end
  | IZR _ => idtac
  | INR _ => idtac
  | ?a + ?b => need a; need b
  | ?a - ?b => need a; need b
  | ?a * ?b => need a; need b
  | ?a / ?b => need a; need b
  | - ?a => need a
  | / ?a => need a
  | Rabs ?a => need a
  | exp ?a => need a
  | ln ?a => need a
  | sqrt ?a => need a
  | ?a ^ _ => need a
  | Rmax ?a ?b => need a; need b
  | Rmin ?a ?b => need a; need b
  | if ?b then ?u else ?v =>
      need_truth b; let t := truth b in lazymatch t with true => need u | false => need v end
  | _ =>
      lazymatch goal with
      | H : encloses _ x |- _ => idtac
      | _ => let y := reduced x in need y; note x y
      end
  end
with compared lemma x y b decided :=
  need x; need y;
  let i := fresh "i" in let j := fresh "j" in
  let Hx := fresh "Hx" in let Hy := fresh "Hy" in
  evar (i : interval); evar (j : interval);
  assert (Hx : encloses i x) by (subst i; enclose);
  assert (Hy : encloses j y) by (subst j; enclose);
  let ei := eval cbv delta [i] in i in
  let ej := eval cbv delta [j] in j in
  let found := eval vm_compute in (decided ei ej) in
  lazymatch found with
  | Some ?v =>
      let H := fresh "truth" in
      pose proof (lemma ei ej x y v Hx Hy ltac:(vm_cast_no_check (@eq_refl (option bool) found))) as H;
      lazymatch type of H with
      | if true then ?order else _ => change order in H
      | if false then _ else ?order => change order in H
      | _ = negb true => change (b = false) in H
      | _ = negb false => change (b = true) in H
      | _ => idtac
      end;
      clear Hx Hy; clear i j
  end
with need_truth b :=
  lazymatch b with
  | true => idtac
  | false => idtac
  | _ =>
      match goal with
      | H : b = true |- _ => idtac
      | H : b = false |- _ => idtac
      | _ => find_truth b
      end
  end
with find_truth b :=
  lazymatch b with
  | negb ?c =>
      need_truth c; let H := fact c in let v := truth c in let w := eval cbv in (negb v) in
      note_truth b w (f_equal negb H)
  | andb ?c ?d =>
      need_truth c; let Hc := fact c in let v := truth c in
      lazymatch v with
      | false => note_truth b false (f_equal (fun u => andb u d) Hc)
      | true => need_truth d; let Hd := fact d in let w := truth d in note_truth b w (f_equal2 andb Hc Hd)
      end
  | orb ?c ?d =>
      need_truth c; let Hc := fact c in let v := truth c in
      lazymatch v with
      | true => note_truth b true (f_equal (fun u => orb u d) Hc)
      | false => need_truth d; let Hd := fact d in let w := truth d in note_truth b w (f_equal2 orb Hc Hd)
      end
  | less ?x ?x => note_truth b false (less_itself x)
  | equal ?x ?x => note_truth b true (equal_itself x)
  | less ?x ?y => compared less_is x y b is_less
  | less_equal ?x ?y => compared less_equal_is x y b (fun i j : interval => is_less j i)
  | equal ?x ?y => compared equal_is x y b is_equal
  | Nat.eqb ?k ?m => let v := eval vm_compute in (Nat.eqb k m) in note_truth b v (@eq_refl bool v)
  | Nat.ltb ?k ?m => let v := eval vm_compute in (Nat.ltb k m) in note_truth b v (@eq_refl bool v)
  | if ?c then ?u else ?v =>
      need_truth c; let H := fact c in let t := truth c in
      lazymatch t with
      | true => need_truth u; let K := fact u in let w := truth u in
          note_truth b w (eq_trans (f_equal (fun t : bool => if t then u else v) H) K)
      | false => need_truth v; let K := fact v in let w := truth v in
          note_truth b w (eq_trans (f_equal (fun t : bool => if t then u else v) H) K)
      end
  | _ => let c := reduced b in need_truth c; let H := fact c in let v := truth c in note_truth b v H
  end.

(** [x < y] or [y <= x], and [x = y] or not, whichever the enclosures show, as a hypothesis. *)
Ltac note_order x y := compared less_by x y x is_less.
Ltac note_equality x y := compared equal_by x y x is_equal.

Ltac in_tree := split; [simpl; lia|repeat constructor; lia].

(** A proof of what holds at an instance. *)
Ltac holds :=
  cbv beta;
  lazymatch goal with
  | |- (_ <= _)%nat => lia
  | |- (_ < _)%nat => lia
  | |- @eq nat _ _ => reflexivity
  | |- @eq bool ?b true => need_truth b; let H := fact b in exact H
  | |- ?x < ?y => first [is_arithmetic x; is_arithmetic y; lra | note_order x y; assumption]
  | |- ?x <= ?y => first [is_arithmetic x; is_arithmetic y; lra | note_order y x; assumption | lra]
  | |- @eq R ?x ?y => first [reflexivity | is_arithmetic x; is_arithmetic y; lra]
  | |- ~ _ => let H := fresh "H" in intros H; fails H
  | |- _ /\ _ => split; holds
  | |- _ \/ _ => first [left; holds | right; holds]
  | |- True => exact I
  | |- nonempty ?n ?A => unfold nonempty; holds
  | |- exists a, (a < ?n)%nat /\ _ => let all := eval vm_compute in (seq 0 n) in some_of all
  | |- exists y, response_of ?n ?h y /\ _ => let all := eval vm_compute in (responses n h) in some_of all
  | |- exists s, state_of ?n ?h s /\ _ => let all := eval vm_compute in (states n h) in some_of all
  | |- response_of _ _ _ => in_tree
  | |- state_of _ _ _ => in_tree
  | |- forall a, (a < ?n)%nat -> @?P a => apply (every_action n P); cbv [seq]; repeat (apply Forall_cons; [holds|]); apply Forall_nil
  | |- forall s, state_of ?n ?h s -> @?P s =>
      apply (every_state n h P); let all := eval vm_compute in (states n h) in change (states n h) with all;
      repeat (apply Forall_cons; [holds|]); apply Forall_nil
  | |- forall y, response_of ?n ?h y -> @?P y =>
      apply (every_response n h P); let all := eval vm_compute in (responses n h) in change (responses n h) with all;
      repeat (apply Forall_cons; [holds|]); apply Forall_nil
  end
with some_of all :=
  lazymatch all with
  | ?k :: ?rest => first [exists k; split; holds | some_of rest]
  end
(** A contradiction from what does not hold at an instance. *)
with fails H :=
  cbv beta in H;
  lazymatch type of H with
  | ~ _ => apply H; holds
  | ?x < ?y =>
      note_order x y; lazymatch goal with K : y <= x |- _ => exact (Rlt_not_le _ _ H K) end
  | ?x <= ?y =>
      note_order y x; lazymatch goal with K : y < x |- _ => exact (Rlt_not_le _ _ K H) end
  | @eq R ?x ?y => note_equality x y; contradiction
  | @eq bool ?b _ => revert H; need_truth b; let K := fact b in rewrite K; discriminate
  | _ /\ _ => let H1 := fresh "H" in let H2 := fresh "H" in destruct H as [H1 H2]; first [fails H1 | fails H2]
  | _ \/ _ => let H1 := fresh "H" in destruct H as [H1|H1]; fails H1
  | forall a, (a < ?n)%nat -> _ => let all := eval vm_compute in (seq 0 n) in fails_at all H
  | forall s, state_of ?n ?h s -> _ => let all := eval vm_compute in (states n h) in fails_at all H
  | forall s, response_of ?n ?h s -> _ => let all := eval vm_compute in (responses n h) in fails_at all H
  | ?P -> _ =>
      let K := fresh "H" in assert (K : P) by holds; specialize (H K); clear K; fails H
  end
with fails_at all H :=
  lazymatch all with
  | ?k :: ?rest =>
      first [let K := fresh "H" in pose proof (H k ltac:(holds)) as K; fails K | fails_at rest H]
  end.

(** Runs, a step at a time: a point's entries are enclosed, and then it is a point of its own. *)
Ltac note_entries x z all :=
  lazymatch all with
  | [] => idtac
  | ?k :: ?rest =>
      let y := eval cbv beta in (x k) in
      need y; note (z k) y; note_entries x z rest
  end.

Ltac note_point x z n :=
  lazymatch type of x with
  | vector => let all := eval vm_compute in (seq 0 n) in note_entries x z all
  | R => need x; note z x
  end.

(** Forgets what is known of everything but these. *)
Ltac forget_but z c :=
  repeat match goal with
  | K : encloses _ ?x |- _ => lazymatch x with z _ => fail | c => fail | _ => clear K end
  | K : @eq bool _ _ |- _ => clear K
  end.

(** By conversion alone a run would be computed as a whole. *)
Lemma run_next {X} (step : nat -> X -> X) start k here :
  run step start k = here -> run step start (S k) = step k here.
Proof. intros <-; reflexivity. Qed.

Ltac unroll_from H step start n count done at_done :=
  let finished := eval vm_compute in (Nat.eqb done count) in
  lazymatch finished with
  | true => rewrite at_done in H; clear at_done
  | false =>
      let here := lazymatch type of at_done with _ = ?here => here end in
      let next := eval cbv beta iota in (step done here) in
      let E := fresh "E" in
      let after := eval vm_compute in (S done) in
      lazymatch next with
      | (?x, ?y) =>
          let z := fresh "z" in let c := fresh "c" in
          pose (z := x); note_point x z n;
          pose (c := y); note_point y c n;
          assert (E : run step start (S done) = (z, c))
            by exact (run_next step start done here at_done);
          clear at_done; clearbody z c; forget_but z c
      | ?x =>
          let z := fresh "z" in
          pose (z := x); note_point x z n;
          assert (E : run step start (S done) = z)
            by exact (run_next step start done here at_done);
          clear at_done; clearbody z; forget_but z z
      end;
      
      unroll_from H step start n count after E
  end.

Ltac unroll_runs H n :=
  repeat lazymatch type of H with
  | context [run ?step ?start ?count] =>
      let E := fresh "E" in
      assert (E : run step start O = start) by reflexivity;
      unroll_from H step start n count O E
  end.

(** A contradiction from a statement of [n] actions that fails at the instance given to it. *)
Ltac refute claim n := unroll_runs claim n; fails claim.
