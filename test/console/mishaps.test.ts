import { CHROMIUM_TIMEOUT_MS } from '../setup/chromium-from-apt.ts';
import { type ConsoleServer, startConsole } from './console-server.ts';
import { chatLost, keyLost, orderLost, purchaseLost } from './lost-answers.ts';
import { invitationStays, keySecretStays, loginStays, ownerKeyStays } from './must-answer.ts';
import { deepLink, keyOnSignInPage } from './people.ts';
import { failedStart, keyOverPlainHttp, pageDuringRestart } from './plain-http.ts';
import {
  conversationStays,
  onlyWhatIsAllowed,
  ownRoleAsks,
  refusedMessageReturns,
  stoppedIsCharged,
} from './roles.ts';
import { operatorAgain, otherAccount, signedInElsewhere, untoldSession, wrongKey } from './two-tabs.ts';

/** What must not cost money, a secret or someone's place: lost answers, stray key presses, a second tab, a role that may do less. */

let console: ConsoleServer;
beforeAll(async () => {
  console = await startConsole(7);
}, CHROMIUM_TIMEOUT_MS);
afterAll(() => console?.close());

describe('when an answer is lost, trying again', () => {
  test('orders one image', () => orderLost(console));
  test('creates one key and shows its secret', () => keyLost(console));
  test('opens one payment', () => purchaseLost(console));
  test('does not promise the same for a chat', () => chatLost(console));
});

describe('Escape does not close', () => {
  test('the secret of a new key', () => keySecretStays(console));
  test('the link of an invitation', () => invitationStays(console));
  test('the owner key of a new account', () => ownerKeyStays(console));
  test('the dialog to sign in again', () => loginStays(console));
});

describe('a tab', () => {
  test('follows another one to another account', () => otherAccount(console));
  test('notices a new session that it was not told of', () => untoldSession(console));
  test('needs no second login when another one has signed in again', () => signedInElsewhere(console));
  test('of an operator goes on after a login in another one', () => operatorAgain(console));
  test('says that a key is wrong', () => wrongKey(console));
});

describe('signing in', () => {
  test('leads back to what a link had chosen', () => deepLink(console));
  test('works with a key on the page that explains a failure', () => keyOnSignInPage(console));
});

test('a role is offered only what it may do', () => onlyWhatIsAllowed(console));
test("taking away an owner's rights asks first", () => ownRoleAsks(console));
test('a refused message returns to its field and is not sent again', () => refusedMessageReturns(console));
test('a stopped answer shows its charge however late it is known', () => stoppedIsCharged(console));
test('without https a key is created and copied', () => keyOverPlainHttp(console));
test('a conversation stays while another page is shown', () => conversationStays(console));
test('a page that is opened while the service restarts is shown afterwards', () =>
  pageDuringRestart(console));
test('a failure of the service is not shown as a broken connection', () => failedStart(console));
