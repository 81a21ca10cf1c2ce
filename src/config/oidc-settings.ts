import { z } from 'zod';
import { baseUrl } from './addresses.ts';
import { ConfigError } from './config-error.ts';

/** The OpenID provider that people sign in with. */
export interface OidcSettings {
  /** The issuer, as in its discovery document. */
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** The provider's name on the sign-in button. */
  readonly name: string;
  readonly scopes: string;
  /** The claim and value that make somebody an operator; null if only tokens do. */
  readonly operators: { readonly claim: string; readonly value: string } | null;
  /** Whether to accept e-mail addresses that the provider does not report as verified. */
  readonly trustEmail: boolean;
}

/** The part of the environment that {@link oidcSettings} reads. */
export const oidcVariables = {
  OIDC_ISSUER: baseUrl
    .optional()
    .describe(
      '[people sign in as themselves](../members.md) with this OpenID provider; set this and the next two together',
    ),
  OIDC_CLIENT_ID: z.string().min(1).max(512).optional().describe('id of this installation at the provider'),
  OIDC_CLIENT_SECRET: z.string().min(1).max(2_048).optional().describe('the secret that goes with that id'),
  OIDC_NAME: z
    .string()
    .trim()
    .min(1)
    .max(60, 'must have at most 60 characters')
    .default('single sign-on')
    .meta({ allowed: '1 to 60 characters' })
    .describe('name of the provider on the sign-in page: “Sign in with …”'),
  OIDC_SCOPES: z
    .string()
    .regex(
      /^openid( [\x21\x23-\x5b\x5d-\x7e]{1,100}){0,20}$/,
      'must be scopes separated by spaces, starting with openid',
    )
    .default('openid email profile')
    .meta({ allowed: '`openid` and others, separated by spaces' })
    .describe('scopes requested from the provider'),
  OIDC_OPERATOR_CLAIM: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe(
      'claim that makes somebody an [operator](../members.md#operators), e.g. `groups`; set it together with the next',
    ),
  OIDC_OPERATOR_VALUE: z
    .string()
    .min(1)
    .max(500)
    .optional()
    .describe('value that the claim must have or contain'),
  OIDC_TRUST_EMAIL: z
    .enum(['no', 'yes'], 'must be no or yes')
    .default('no')
    .describe(
      "`yes`: accept e-mail addresses that the provider does not report as verified; safe only if nobody can claim another person's address there",
    ),
};

type OidcVariables = z.output<z.ZodObject<typeof oidcVariables>>;

const OPERATOR_PAIR = ['OIDC_OPERATOR_CLAIM', 'OIDC_OPERATOR_VALUE'] as const;

const REQUIRED = ['OIDC_ISSUER', 'OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET'] as const;

/**
 * Returns the configured provider; null if people sign in with keys only. Throws ConfigError for an incomplete configuration, or for one
 * without TLS in production.
 */
export function oidcSettings(variables: OidcVariables, production: boolean): OidcSettings | null {
  const { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: clientId, OIDC_CLIENT_SECRET: clientSecret } = variables;
  const { OIDC_OPERATOR_CLAIM: claim, OIDC_OPERATOR_VALUE: value } = variables;
  if ((claim === undefined) !== (value === undefined)) {
    const [given, missing] = value === undefined ? OPERATOR_PAIR : OPERATOR_PAIR.toReversed();
    throw new ConfigError(`${given} is set without ${missing}: they must be set together`);
  }
  if (issuer === undefined || clientId === undefined || clientSecret === undefined) {
    const given = REQUIRED.filter((name) => variables[name] !== undefined);
    const missing = REQUIRED.find((name) => variables[name] === undefined);
    if (given.length > 0 || claim !== undefined) {
      throw new ConfigError(`${missing} is not set: ${REQUIRED.join(', ')} must be set together`);
    }
    return null;
  }
  if (production && !issuer.startsWith('https:')) {
    throw new ConfigError('OIDC_ISSUER must start with https://, because it decides who signs in');
  }
  return {
    issuer,
    clientId,
    clientSecret,
    name: variables.OIDC_NAME,
    scopes: variables.OIDC_SCOPES,
    operators: claim === undefined || value === undefined ? null : { claim, value },
    trustEmail: variables.OIDC_TRUST_EMAIL === 'yes',
  };
}
