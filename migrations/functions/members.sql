-- Makes a person a member by an invitation, which is used up. person: {id, issuer, subject, email, name}; key: as for create_api_key. An
-- existing member gets the role of the invitation. No row when the invitation has ended, or when the account has reached its maximum number
-- of keys; in the latter case the invitation stays.
CREATE OR REPLACE FUNCTION join_account(account uuid, invitation uuid, person jsonb, key jsonb) RETURNS SETOF members
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  invited invitations;
  joined members;
BEGIN
  SELECT * INTO invited FROM invitations i
    WHERE i.id = invitation AND i.account_id = account AND i.ends_at > statement_timestamp() FOR UPDATE;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  UPDATE members m SET role = invited.role, email = person->>'email', name = person->>'name'
    FROM api_keys k
    WHERE m.account_id = account AND m.issuer = person->>'issuer' AND m.subject = person->>'subject'
      AND k.id = m.api_key_id AND k.deleted_at IS NULL
    RETURNING m.* INTO joined;
  IF NOT FOUND THEN
    PERFORM 1 FROM create_api_key(account, key);
    IF NOT FOUND THEN
      RETURN;
    END IF;
    -- the row of a person whose key was deleted is no longer a member's
    INSERT INTO members AS m (id, account_id, api_key_id, issuer, subject, email, name, role)
      VALUES ((person->>'id')::uuid, account, (key->>'id')::uuid, person->>'issuer', person->>'subject', person->>'email',
              person->>'name', invited.role)
      ON CONFLICT ON CONSTRAINT members_person DO UPDATE SET id = excluded.id, api_key_id = excluded.api_key_id, email = excluded.email,
        name = excluded.name, role = excluded.role, created_at = excluded.created_at, signed_in_at = excluded.signed_in_at
      RETURNING m.* INTO joined;
  END IF;
  DELETE FROM invitations i WHERE i.id = invitation;
  PERFORM record_act(current_act(), jsonb_build_object('role', joined.role, 'invited_by', invited.invited_by));
  RETURN NEXT joined;
END $$;

-- Ends a membership with its key and its sessions. Returns the hash of the key; no row when there is no such member.
CREATE OR REPLACE FUNCTION remove_member(account uuid, member uuid) RETURNS SETOF text
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  member_key uuid;
BEGIN
  DELETE FROM members m WHERE m.id = member AND m.account_id = account RETURNING m.api_key_id INTO member_key;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  PERFORM change_api_key(account, member_key, '{"deleted": true}');
  DELETE FROM console_sessions s WHERE s.api_key_id = member_key;
  RETURN QUERY SELECT k.hash FROM api_keys k WHERE k.id = member_key;
END $$;
