import type { SqlStatement } from '../store/statement.ts';

const MEMBER = `m.id, m.account_id, m.email, m.name, m.role, m.created_at, m.signed_in_at, k.hash AS key_hash,
  k.disabled OR coalesce(k.expires_at <= statement_timestamp(), false) AS disabled, a.name AS account_name`;
const LIVING = `members m JOIN api_keys k ON k.id = m.api_key_id AND k.deleted_at IS NULL JOIN accounts a ON a.id = m.account_id`;

/** Lists members, newest first. $1 account, $2 before id or NULL, $3 maximum number. */
export const listMembers: SqlStatement = {
  name: 'member_list',
  text: `SELECT ${MEMBER} FROM ${LIVING} WHERE m.account_id = $1 AND ($2::uuid IS NULL OR m.id < $2) ORDER BY m.id DESC LIMIT $3`,
};

/** Lists the memberships of a person, last used first, without those whose key was deleted. $1 issuer, $2 subject, $3 maximum number. */
export const membershipsOfPerson: SqlStatement = {
  name: 'member_of_person',
  text: `SELECT ${MEMBER} FROM ${LIVING} WHERE m.issuer = $1 AND m.subject = $2 ORDER BY m.signed_in_at DESC, m.id DESC LIMIT $3`,
};

/** Lists every membership of the person behind a member. $1 member, $2 maximum number. */
export const membershipsBesides: SqlStatement = {
  name: 'member_besides',
  text: `SELECT ${MEMBER} FROM ${LIVING}
           JOIN members self ON self.issuer = m.issuer AND self.subject = m.subject
          WHERE self.id = $1 ORDER BY lower(a.name), m.id LIMIT $2`,
};

/** $1 account, $2 member, $3 role. → its row; none when there is no such member */
export const changeMemberRole: SqlStatement = {
  name: 'member_change_role',
  text: `WITH changed AS (
           UPDATE members m SET role = $3 FROM api_keys k
            WHERE m.account_id = $1 AND m.id = $2 AND k.id = m.api_key_id AND k.deleted_at IS NULL RETURNING m.*)
         SELECT ${MEMBER} FROM changed m JOIN api_keys k ON k.id = m.api_key_id JOIN accounts a ON a.id = m.account_id`,
};

/** $1 account, $2 member. → key_hash; none when there is no such member */
export const removeMember: SqlStatement = {
  name: 'member_remove',
  text: 'SELECT remove_member($1, $2) AS key_hash',
};

/** $1 member, $2 e-mail, $3 name, both as the provider reports them now. */
export const noteMemberSignIn: SqlStatement = {
  name: 'member_note_sign_in',
  text: 'UPDATE members SET signed_in_at = statement_timestamp(), email = $2, name = $3 WHERE id = $1',
};

/**
 * Creates an invitation, which replaces an earlier one to the same address, and deletes ended ones of all accounts. $1 id, $2 token hash,
 * $3 account, $4 e-mail, $5 role, $6 who invites, $7 lifetime in hours, $8 maximum per account. → its row; none when the account has its
 * maximum.
 */
export const insertInvitation: SqlStatement = {
  name: 'invitation_insert',
  text: `
    WITH ended AS (
      DELETE FROM invitations WHERE id IN (
        SELECT id FROM invitations WHERE ends_at < statement_timestamp() ORDER BY ends_at LIMIT 100)),
    replaced AS (DELETE FROM invitations WHERE account_id = $3 AND email = $4)
    INSERT INTO invitations (id, token_hash, account_id, email, role, invited_by, ends_at)
    SELECT $1, $2, $3, $4, $5, $6, statement_timestamp() + $7 * interval '1 hour'
     WHERE (SELECT count(*) FROM invitations i
             WHERE i.account_id = $3 AND i.email <> $4 AND i.ends_at > statement_timestamp()) < $8
    RETURNING id, account_id, email, role, invited_by, created_at, ends_at`,
};

/** Lists invitations, newest first, without ended ones. $1 account, $2 before id or NULL, $3 maximum number. */
export const listInvitations: SqlStatement = {
  name: 'invitation_list',
  text: `SELECT id, account_id, email, role, invited_by, created_at, ends_at FROM invitations
          WHERE account_id = $1 AND ($2::uuid IS NULL OR id < $2) AND ends_at > statement_timestamp() ORDER BY id DESC LIMIT $3`,
};

/** $1 token hash. */
export const findInvitation: SqlStatement = {
  name: 'invitation_find',
  text: `SELECT id, account_id, email, role, invited_by, created_at, ends_at FROM invitations
          WHERE token_hash = $1 AND ends_at > statement_timestamp()`,
};

/** $1 account, $2 invitation. */
export const deleteInvitation: SqlStatement = {
  name: 'invitation_delete',
  text: 'DELETE FROM invitations WHERE account_id = $1 AND id = $2 RETURNING id',
};

/** $1 account, $2 invitation, $3 person as JSON, $4 key as JSON, $5 act. → id of the member; see join_account */
export const joinAccount: SqlStatement = {
  name: 'member_join',
  text: `SELECT (joined).id FROM (SELECT join_account($1, $2, $3::jsonb, $4::jsonb) AS joined FROM act_as($5::jsonb) OFFSET 0) j`,
};
