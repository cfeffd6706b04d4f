// The dashboard keeps the function key for this tab; who has given it there need not give it here.
const ui = SwaggerUIBundle({
  url: "/v1/openapi.json",
  dom_id: "#docs",
  deepLinking: true,
  displayRequestDuration: true,
  validatorUrl: null, // nothing is sent to anybody else
  onComplete() {
    const key = sessionStorage.getItem("larkfield.key");
    if (key) ui.preauthorizeApiKey("key", key);
  },
});
