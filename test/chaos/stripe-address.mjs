// Loaded into a process of the product before its code: redirects requests to Stripe to the contract server.
import http from 'node:http';
import https from 'node:https';

const { hostname, port } = new URL(process.env.STRIPE_CONTRACT_SERVER);
const request = https.request;

https.request = (options, ...rest) =>
  options.host === 'api.stripe.com'
    ? http.request({ ...options, host: hostname, port, protocol: 'http:', agent: undefined }, ...rest)
    : request(options, ...rest);
